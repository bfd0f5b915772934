# SPDX-License-Identifier: Apache-2.0
"""Dataflow between quantized layers, recorded while the model runs once: which values reach which layers.

A Recorder watches every ATen call of one forward. A value is a number; it stands for one state of one
tensor, so an in-place operator makes a new value of the same tensor (and of nothing else: other tensors
over the same memory become unknown). Quantized layers are single steps; what they compute inside is hidden.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quadric_pyquant.modules.base import QuantModule

Bounds = tuple[float, float]
INFINITE = float("inf")

# Kinds of steps. A relu or clip cuts the range, a max pool keeps it, a reshape keeps order and values; a move
# takes values elsewhere (and has no place between a dequantize and an integer average). The rest is opaque.
RELU, CLIP, MAX_POOL, RESHAPE, MOVE, CALL, OPAQUE, OUTPUT = (
    "relu",
    "clip",
    "max_pool",
    "reshape",
    "move",
    "call",
    "opaque",
    "output",
)
TRANSPARENT = frozenset({RELU, CLIP, MAX_POOL, RESHAPE, MOVE})
BEFORE_AVERAGE = frozenset({RELU, CLIP, MAX_POOL, RESHAPE})
AFTER_AVERAGE = frozenset({RELU, CLIP, RESHAPE})

_KINDS = {
    RELU: {"relu"},
    CLIP: {"hardtanh", "clamp", "clamp_min", "clamp_max", "relu6"},
    MAX_POOL: {"max_pool2d", "max_pool2d_with_indices"},
    RESHAPE: {"view", "_unsafe_view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze"}
    | {"view_as", "_reshape_alias", "alias", "detach", "lift_fresh", "dropout"},
    MOVE: {"permute", "transpose", "t", "movedim", "roll", "flip", "expand", "clone", "contiguous"}
    | {"slice", "select", "split", "split_with_sizes", "chunk", "unbind", "narrow", "index_select"}
    | {"upsample_nearest2d", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle"},
}
_KIND_OF = {f"aten::{name}": kind for kind, names in _KINDS.items() for name in names}


@dataclass
class Step:
    """One operator or layer call; bounds is what a relu or clip leaves of a range."""

    kind: str
    inputs: list[int]
    outputs: list[int]
    bounds: Bounds = (-INFINITE, INFINITE)
    module: QuantModule | None = None


@dataclass
class Dataflow:
    """What a Recorder saw: steps in order, the step that made a value and those that read it."""

    steps: list[Step] = field(default_factory=list)
    maker: dict[int, Step] = field(default_factory=dict)
    readers: dict[int, list[Step]] = field(default_factory=dict)

    def add(self, step: Step) -> None:
        """Append a step."""
        self.steps.append(step)
        for value in step.inputs:
            self.readers.setdefault(value, []).append(step)
        for value in step.outputs:
            self.maker[value] = step

    def calls(self) -> Iterator[tuple[Step, QuantModule]]:
        """Yield the calls of quantized layers, in order."""
        for step in self.steps:
            if step.module is not None:
                yield step, step.module


class Recorder(TorchDispatchMode):
    """Fills a Dataflow while it is active; hidden() suspends it."""

    def __init__(self) -> None:
        super().__init__()
        self.flow = Dataflow()
        self.depth = 0
        self._values: Any = WeakIdKeyDictionary()
        self._count = 0

    def __enter__(self) -> Recorder:  # noqa: PYI034 - Self needs Python 3.11
        _active.append(self)
        super().__enter__()
        return self

    def __exit__(self, *args: object) -> None:
        super().__exit__(*args)
        _active.remove(self)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if self.depth == 0:
            self._note(func, args, kwargs or {}, out)
        return out

    def note_call(self, module: QuantModule, operands: Sequence[torch.Tensor], result: torch.Tensor) -> None:
        """Record the call of a quantized layer."""
        inputs = [self._value(operand) for operand in operands]
        self.flow.add(Step(CALL, inputs, [self._new(result)], module=module))

    def finish(self, outputs: Any) -> Dataflow:
        """Record what the model returns and give the dataflow."""
        tensors = [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]
        self.flow.add(Step(OUTPUT, [self._value(tensor) for tensor in tensors], []))
        return self.flow

    def _new(self, tensor: torch.Tensor) -> int:
        self._count += 1
        self._values[tensor] = self._count
        return self._count

    def _value(self, tensor: torch.Tensor) -> int:
        value = self._values.get(tensor)
        return self._new(tensor) if value is None else int(value)

    def _note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        schema = func._schema  # noqa: SLF001 - an operator's only description of what it changes
        name = schema.name
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        results = [leaf for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
        inputs = [self._value(tensor) for tensor in tensors]
        kind = _KIND_OF.get(name.rstrip("_") if schema.is_mutable else name, OPAQUE)
        if name == "aten::constant_pad_nd" and not any((*args[2:], *kwargs.values())):
            kind = MOVE  # a border of zeros: 0 has a code in every scale
        if len(inputs) != 1:
            kind = OPAQUE
        if schema.is_mutable:
            changed = [result for result in results if any(result is tensor for tensor in tensors)]
            if not (name.endswith("_") and len(changed) == 1):
                kind, changed = OPAQUE, changed or tensors
            for tensor in changed:
                self._forget_aliases(tensor)
        if results:
            values = [self._new(result) for result in results]
            self.flow.add(Step(kind, inputs, values, _bounds(name.rstrip("_"), args, kwargs)))
        else:
            self.flow.add(Step(OPAQUE, inputs, []))

    def _forget_aliases(self, changed: torch.Tensor) -> None:
        """Make the other live tensors over the same memory unknown: their values changed unseen."""
        memory = changed.untyped_storage().data_ptr()
        for tensor in list(self._values.keys()):
            if tensor is not changed and tensor.untyped_storage().data_ptr() == memory:
                self.flow.add(Step(OPAQUE, [self._value(tensor)], [self._new(tensor)]))


def _bounds(name: str, args: Any, kwargs: Any) -> Bounds:
    """Return the range that a relu or clip cuts to; all numbers for other operators."""
    short = name.removeprefix("aten::")
    if short in ("relu", "relu6"):
        return 0.0, INFINITE if short == "relu" else 6.0
    names = _BOUND_NAMES.get(short, ())
    given = {"low": -1.0, "high": 1.0} if short == "hardtanh" else {}
    given |= {side: value for (_, side), value in zip(names, args[1:], strict=False) if value is not None}
    given |= {side: kwargs[key] for key, side in names if kwargs.get(key) is not None}
    return float(given.get("low", -INFINITE)), float(given.get("high", INFINITE))


_BOUND_NAMES = {
    "hardtanh": (("min_val", "low"), ("max_val", "high")),
    "clamp": (("min", "low"), ("max", "high")),
    "clamp_min": (("min", "low"),),
    "clamp_max": (("max", "high"),),
}


_active: list[Recorder] = []


@contextmanager
def hidden() -> Iterator[None]:
    """Hide the operators inside a quantized layer from the recorder, if one is active."""
    recorder = _active[-1] if _active else None
    if recorder is not None:
        recorder.depth += 1
    try:
        yield
    finally:
        if recorder is not None:
            recorder.depth -= 1


def note_call(module: QuantModule, operands: Sequence[torch.Tensor], result: torch.Tensor) -> bool:
    """Tell the active recorder of a call of a quantized layer; return whether there is one."""
    if _active:
        _active[-1].note_call(module, operands, result)
    return bool(_active)
