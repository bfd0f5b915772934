# SPDX-License-Identifier: Apache-2.0
"""run_calibration: runs the float model on representative data and sets every scale and zero point.

Ranges stream through observers, so memory does not grow with the data. The first batch is also recorded as
dataflow (flow.py), from which scales are shared (tie.py).
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Sized
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from tqdm import tqdm

from opencgc.errors import ArgumentError, QuantizationError
from quadric_pyquant.explain import misfit
from quadric_pyquant.flow import Dataflow, Recorder
from quadric_pyquant.modules import FloatModule, QAvgPool2d, QuantModule
from quadric_pyquant.modules.base import Role
from quadric_pyquant.notes import warn
from quadric_pyquant.tags import named_layers, require_eval
from quadric_pyquant.tie import Ranges, choose_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

_CALLS_DIFFER = 4.0  # ranges of two calls of one layer that differ more than this lose two bits


def run_calibration(
    model: nn.Module, loader: Iterable[Any], num_batches: int | None = None, *, progress: bool = True
) -> int:
    """Measure the ranges of all values over the loader's batches; return how many batches were used.

    At most num_batches are used. A batch is a tensor, a tuple or list (inputs first: extra elements such as
    labels are ignored) or a dict (keys are forward's parameter names; others are ignored). Progress is shown
    on stderr. A later call starts afresh.
    """
    require_eval(model, "run_calibration")
    layers = quantized_layers(model)
    if num_batches is not None and num_batches <= 0:
        raise ArgumentError(
            "num_batches is unusable",
            setting="num_batches",
            found=num_batches,
            wanted="at least 1, or None for all batches",
        )
    if isinstance(loader, torch.Tensor):
        raise ArgumentError(
            "the loader is a tensor",
            setting="loader",
            found=f"a tensor of shape {tuple(loader.shape)}",
            wanted="something that yields batches",
            cure="pass [batch] or a torch.utils.data.DataLoader",
        )
    for layer in layers.values():
        layer.begin_observation()
    try:
        used, flow = _observe(model, loader, num_batches, progress=progress)
        _finish(layers, flow)
    except BaseException:
        for layer in layers.values():
            layer.end_observation(None)
        raise
    return used


def quantized_layers(model: nn.Module) -> dict[str, QuantModule]:
    """Return the quantized layers by name; an error if quantize_model has not changed the model."""
    layers = {name: module for name, module in named_layers(model) if isinstance(module, QuantModule)}
    if not layers and not any(isinstance(module, FloatModule) for module in model.modules()):
        raise QuantizationError(
            "the model has no quantized layers",
            op=type(model).__name__,
            setting="model",
            found="a float model",
            wanted="a model that quantize_model has changed",
            cure="call quantize_model(model, config) first",
        )
    return layers


def _observe(
    model: nn.Module, loader: Iterable[Any], num_batches: int | None, *, progress: bool
) -> tuple[int, Dataflow]:
    total = len(loader) if isinstance(loader, Sized) else None
    if num_batches is not None:
        total = num_batches if total is None else min(total, num_batches)
    flow, used = None, 0
    bar = tqdm(
        islice(loader, num_batches), "calibration", total, file=sys.stderr, disable=not progress, unit="batch"
    )
    with torch.no_grad():
        for batch in bar:
            args, kwargs = model_inputs(model, batch)
            try:
                if flow is None:
                    with Recorder() as recorder:
                        result = model(*args, **kwargs)
                    flow = recorder.finish(result)
                else:
                    model(*args, **kwargs)
            except (RuntimeError, ValueError) as problem:
                explained = misfit(model, problem, *args, **kwargs)
                if explained is None:
                    raise
                raise explained from problem
            used += 1
    if flow is None:
        raise ArgumentError(
            "the loader gave no batch",
            setting="loader",
            found="no batch",
            wanted="at least one",
            cure="check the data set, and that a generator was not used up before",
        )
    return used, flow


# ---- batches ----


def model_inputs(model: nn.Module, batch: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return (args, kwargs) of forward for one batch of a loader."""
    parameters = inspect.signature(model.forward).parameters
    positional = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    anchor = next(model.parameters(), torch.zeros(()))
    if isinstance(batch, dict) or hasattr(batch, "keys"):
        return _named_inputs(dict(batch), list(parameters), anchor)
    if isinstance(batch, torch.Tensor) or not isinstance(batch, tuple | list):
        return [_to_tensor(batch, anchor)], {}
    if not batch:
        raise ArgumentError("a batch is empty", setting="loader", found=repr(batch), wanted="tensors")
    if isinstance(batch[0], tuple | list | dict):
        return model_inputs(model, batch[0])
    required = sum(p.default is p.empty for p in positional)
    variable = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    count = len(batch) if variable and not required else max(required, 1)
    return [_to_tensor(item, anchor) for item in batch[:count]], {}


def _named_inputs(
    batch: dict[str, Any], names: list[str], like: torch.Tensor
) -> tuple[list[Any], dict[str, Any]]:
    known = {name: _to_tensor(value, like) for name, value in batch.items() if name in names}
    if known:
        return [], known
    tensors = [
        v for v in batch.values() if isinstance(v, torch.Tensor) and v.is_floating_point() and v.dim() > 1
    ]
    if len(tensors) == 1:
        return [_to_tensor(tensors[0], like)], {}
    raise ArgumentError(
        "a batch has no key that is a parameter of forward",
        setting="loader",
        found=", ".join(map(str, batch)),
        wanted=", ".join(names),
        cure="name the entries as forward's parameters, or yield a tensor",
    )


def _to_tensor(value: Any, like: torch.Tensor) -> Any:
    if not isinstance(value, torch.Tensor):
        if not hasattr(value, "__array__"):
            return value
        value = torch.as_tensor(value)
    return value.to(like.device, like.dtype if value.is_floating_point() else value.dtype)


# ---- results ----


def _finish(layers: dict[str, QuantModule], flow: Dataflow) -> None:
    """Set every layer's parameters and role from what was observed."""
    ranges: Ranges = {}
    for name, layer in layers.items():
        for port, observer in layer.observers.items():
            seen = observer.range()
            if seen is not None:
                _check_finite(name, layer, port, seen)
                ranges[layer, port] = observer.cut() or seen
    parameters = choose_parameters(flow, ranges)
    _note_repeated_calls(flow)
    unused, dead = [], []
    for name, layer in layers.items():
        ports = [port for port in (*layer.operands, "y") if (layer, port) in ranges]
        if not ports:
            unused += [] if getattr(layer, "shares_weights", False) else [f"'{name}'"]
            layer.end_observation(Role.UNUSED)
            continue
        for port in ports:
            layer.set_affine(port, parameters.affine[layer, port])
        dead += [f"'{name}'" for port in layer.operands if ranges.get((layer, port)) == (0.0, 0.0)]
        is_float = isinstance(layer, QAvgPool2d) and layer in parameters.float_pools
        layer.end_observation(Role.FLOAT32 if is_float else Role.INT8)
    if unused:
        warn(f"calibration never reached layers {', '.join(unused)}: without ranges they cannot run")
    if dead:
        warn(f"calibration saw only zeros at an input of layers {', '.join(dead)}: is the data typical?")


def _check_finite(name: str, layer: QuantModule, port: str, seen: tuple[float, float]) -> None:
    if all(map(math.isfinite, seen)):
        return
    raise QuantizationError(
        f"calibration saw values that are not finite ({'output' if port == 'y' else f'input {port}'})",
        layer=name,
        op=type(layer).__name__,
        setting="calibration data",
        found=f"range [{seen[0]}, {seen[1]}]",
        wanted="finite values",
        cure="look for NaN or infinity in the data, or for a weight that makes them",
    )


def _note_repeated_calls(flow: Dataflow) -> None:
    """Keep on each layer how often one forward calls it with very different ranges (validate reads it)."""
    calls: dict[QuantModule, int] = {}
    for _, module in flow.calls():
        calls[module] = calls.get(module, 0) + 1
    for module, count in calls.items():
        tops = module.call_tops
        spread = max(tops) / min(tops) if tops and min(tops) > 0 else 1.0
        module.calls_differ = count if count > 1 and spread > _CALLS_DIFFER else 0
