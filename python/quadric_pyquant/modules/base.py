# SPDX-License-Identifier: Apache-2.0
"""What all layers of a quantized model share: state, buffers, checkpoints and the choice of the forward path.

A QuantModule is in one stage: "float" (made), "observe" (inside run_calibration), "fake" (calibrated:
values rounded to the int8 grids, computed in float, with gradients), "integer" (frozen: the custom
operator, the contract's values), "unused" (never ran in calibration: calling it is an error). The stage is
a Python string, never read from a buffer, so export sees no data-dependent branch; the buffers
`calibrated`, `frozen` and `role` carry it through checkpoints.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from opencgc.errors import QuantizationError
from quadric_pyquant import flow
from quadric_pyquant.arithmetic import Affine, fake_quantize
from quadric_pyquant.observe import MinMax, make_observer

if TYPE_CHECKING:
    from typing_extensions import Self

    from quadric_pyquant.settings import LayerSettings


class Role(IntEnum):
    """Values of the buffer role."""

    INT8 = 0
    FLOAT32 = 1
    UNUSED = 2


class TakenOver(nn.Module):
    """A layer of the user's model that got another class; it keeps its parameters and attributes."""

    layer_name: str
    quant_settings: LayerSettings

    @classmethod
    def adopt(cls, module: nn.Module, layer_name: str, settings: LayerSettings) -> Self:
        """Turn a float module into this class in place and return it."""
        module.__class__ = cls
        adopted: Any = module
        adopted.layer_name, adopted.quant_settings = layer_name, dict(settings)
        adopted._prepare()  # noqa: SLF001 - its own method
        result: Self = adopted
        return result

    def _prepare(self) -> None:
        """Derive what forward needs from the float module's attributes."""


class FloatModule(TakenOver):
    """A layer without quantization parameters: float32 on the C kernel, on torch while training."""

    float_layer: bool = True


class QuantModule(TakenOver):
    """Base of the int8 layers; operands names the inputs of forward, in order."""

    operands: ClassVar[tuple[str, ...]] = ("x",)

    float_layer: bool
    stage: str
    calibrated: Tensor
    frozen: Tensor
    role: Tensor
    observers: dict[str, MinMax]
    call_tops: list[float]  # largest |y| of each call in the recorded forward
    calls_differ: int  # how often one forward calls the layer, if with very different ranges; else 0

    def _prepare(self) -> None:
        """Make every buffer in its final shape; nothing is sized later."""
        self.float_layer, self.stage = False, "float"
        self.observers, self.call_tops, self.calls_differ = {}, [], 0
        device = next((p.device for p in self.parameters()), torch.device("cpu"))
        for name in (*self.operands, "y"):
            self.register_buffer(f"{name}_scale", torch.ones((), device=device))
            zero = torch.zeros((), dtype=torch.int32, device=device)
            self.register_buffer(f"{name}_zero_point", zero)
        self.register_buffer("calibrated", torch.zeros((), dtype=torch.bool, device=device))
        self.register_buffer("frozen", torch.zeros((), dtype=torch.bool, device=device))
        self.register_buffer("role", torch.zeros((), dtype=torch.uint8, device=device))

    # ---- parameters ----

    def affine(self, name: str) -> Affine:
        """Return scale and zero point of an operand or of "y"."""
        scale, zero_point = getattr(self, f"{name}_scale"), getattr(self, f"{name}_zero_point")
        return Affine(float(scale), int(zero_point))

    def set_affine(self, name: str, affine: Affine) -> None:
        """Set scale and zero point of an operand or of "y"."""
        getattr(self, f"{name}_scale").fill_(affine.scale)
        getattr(self, f"{name}_zero_point").fill_(affine.zero_point)

    @property
    def quantizes_output(self) -> bool:
        """Whether the layer's output has a scale of its own."""
        return not self.float_layer and bool(self.quant_settings["quantize_output"])

    # ---- state ----

    def begin_observation(self) -> None:
        """Forget earlier ranges and start to observe."""
        self.observers = {name: make_observer(self.quant_settings) for name in (*self.operands, "y")}
        self.call_tops, self.calls_differ = [], 0
        self._set_state(Role.INT8, calibrated=False, frozen=False)
        self.stage = "observe"

    def end_observation(self, role: Role | None) -> None:
        """Leave the observing stage: calibrated in a role, or back to float where role is None."""
        self.observers = {}
        if role is None:
            self._set_state(Role.INT8, calibrated=False, frozen=False)
        else:
            self._set_state(role, calibrated=role is not Role.UNUSED, frozen=False)

    def freeze(self) -> None:
        """Bake the integer form; from here on forward is the integer path."""
        self._set_state(Role(int(self.role)), calibrated=True, frozen=True)

    def _set_state(self, role: Role, *, calibrated: bool, frozen: bool) -> None:
        self.calibrated.fill_(calibrated)
        self.frozen.fill_(frozen)
        self.role.fill_(int(role))
        self._sync_stage()

    def _sync_stage(self) -> None:
        """Derive the Python state from the buffers (after calibration, freezing, loading a checkpoint)."""
        role = Role(int(self.role))
        self.float_layer = role is Role.FLOAT32
        integer = self.quant_settings["int8_matmul"] and self.quant_settings["quantize_output"]
        if role is Role.UNUSED:
            self.stage = "unused"
        elif not bool(self.calibrated):
            self.stage = "float"
        else:
            self.stage = "integer" if bool(self.frozen) and integer else "fake"

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        if not self.role.is_meta:
            self._sync_stage()

    # ---- forward ----

    def run(self, *operands: Tensor) -> Tensor:
        """Compute the layer in its stage; what every subclass's forward calls."""
        if self.stage == "integer":
            return self.integer_forward(*operands)
        if self.stage == "fake":
            return self._fake_forward(*operands)
        if self.stage == "observe":
            return self._observe(*operands)
        if self.stage == "unused":
            raise QuantizationError(
                "the layer runs now but never ran during calibration, so it has no ranges",
                layer=self.layer_name,
                op=type(self).__name__,
                setting="calibration data",
                found="no value seen",
                wanted="inputs that reach the layer",
                cure="run run_calibration with data that takes this path",
            )
        return self.float_forward(*operands)

    def _observe(self, *operands: Tensor) -> Tensor:
        with flow.hidden():
            y = self.float_forward(*operands)
            if any(y is operand for operand in operands):
                y = y.clone()
            for name, value in zip((*self.operands, "y"), (*operands, y), strict=True):
                self.observers[name].update(value)
            if flow.note_call(self, operands, y) and y.numel():
                self.call_tops.append(float(y.abs().max()))
        return y

    def _fake_forward(self, *operands: Tensor) -> Tensor:
        if self.float_layer:
            return self.float_forward(*operands)
        rounded = [
            fake_quantize(value, getattr(self, f"{name}_scale"), getattr(self, f"{name}_zero_point"))
            for name, value in zip(self.operands, operands, strict=True)
        ]
        y = self.fake_compute(*rounded)
        if not self.quantizes_output:
            return y
        return fake_quantize(y, self.get_buffer("y_scale"), self.get_buffer("y_zero_point"))

    def fake_compute(self, *operands: Tensor) -> Tensor:
        """Compute the layer in float on rounded operands."""
        return self.float_forward(*operands)

    @abstractmethod
    def float_forward(self, *operands: Tensor) -> Tensor:
        """Compute the float layer as torch does."""

    @abstractmethod
    def integer_forward(self, *operands: Tensor) -> Tensor:
        """Compute the layer by its custom operator."""

    def extra_repr(self) -> str:
        """Describe the layer in print(model)."""
        weight = getattr(self, "weight", None)
        shape = "" if weight is None else f", weight={tuple(weight.shape)}"
        return f"{self.layer_name!r}{shape}, stage={self.stage}"
