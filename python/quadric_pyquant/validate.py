# SPDX-License-Identifier: Apache-2.0
"""validate_model_export_ready: raises on the first layer that the exporter could not consume.

The rules are those of EXPORT_CONTRACT.md. They read buffers and settings only; the model is not run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from opencgc.errors import QuantizationError
from quadric_pyquant.arithmetic import F32_NORMAL, multiplier
from quadric_pyquant.calibrate import quantized_layers
from quadric_pyquant.modules import FloatConv2d, FloatModule, QConv2d, QuantModule
from quadric_pyquant.modules.base import Role
from quadric_pyquant.modules.qweighted import QWeighted
from quadric_pyquant.tags import require_eval

if TYPE_CHECKING:
    from torch import nn


def validate_model_export_ready(model: nn.Module) -> None:
    """Raise an opencgc.Error (layer, setting, found, wanted, cure) if the model cannot be exported."""
    require_eval(model, "export")
    quantized_layers(model)
    tags: dict[str, str] = {}
    for path, module in model.named_modules():
        if isinstance(module, _BatchNorm):
            _check_batchnorm(path, module)
        if isinstance(module, QuantModule | FloatModule):
            _check_name(path, module, tags)
            _check_padding_mode(module)
        if isinstance(module, QuantModule) and int(module.role) != Role.UNUSED:
            _check_state(module)
            _check_numbers(module)


def _fail(module: Any, what: str, **place: Any) -> QuantizationError:
    return QuantizationError(what, layer=module.layer_name, op=type(module).__name__, **place)


def _check_batchnorm(path: str, norm: Any) -> None:
    place: dict[str, Any] = {"layer": path, "op": type(norm).__name__}
    if norm.running_mean is None:
        raise QuantizationError(
            "BatchNorm without running statistics computes on each batch",
            setting="track_running_stats",
            found="no running_mean and running_var",
            wanted="running statistics",
            cure="train it with track_running_stats=True, or use another normalization",
            **place,
        )
    raise QuantizationError(
        "BatchNorm was never folded and has no quantized form",
        setting="fold_batchnorm",
        found="a BatchNorm in the model",
        wanted="none",
        cure="call fold_batchnorm(model) before quantize_model",
        **place,
    )


def _check_name(path: str, module: Any, tags: dict[str, str]) -> None:
    name = module.layer_name
    if name in tags:
        raise _fail(
            module,
            f"two layers have the same layer_name: '{tags[name]}' and '{path}'",
            setting="layer_name",
            found=repr(name),
            wanted="a name of its own for each layer",
            cure="call tag_all_modules(model)",
        )
    tags[name] = path


def _check_padding_mode(module: Any) -> None:
    if isinstance(module, QConv2d | FloatConv2d) and module.padding_mode != "zeros" and any(module.pads):
        raise _fail(
            module,
            "the graph has no operator for this padding_mode",
            setting="padding_mode",
            found=repr(module.padding_mode),
            wanted="'zeros'",
            cure="use padding_mode='zeros', or keep this layer out of the exported model",
        )


_SET_AGAIN = (
    'set config["defaults"]["{setting}"] = True, and in config["layers"]["{layer}"] where it stands there, '
    "and quantize again"
)
_STATES = {
    "int8_matmul": (
        "the layer is not on the integer path (int8_matmul)",
        _SET_AGAIN,
    ),
    "quantize_output": (
        "the layer's output has no scale (quantize_output)",
        _SET_AGAIN,
    ),
    "calibrated": ("the layer is not calibrated", "call run_calibration(model, loader)"),
    "frozen": ("the layer's weights are not frozen", "call freeze_model_weights(model) after calibration"),
}


def _check_state(module: QuantModule) -> None:
    for setting, (what, cure) in _STATES.items():
        good = (
            module.quant_settings[setting] if setting in module.quant_settings else getattr(module, setting)
        )
        if not bool(good):
            found, wanted = f"{setting}=False", f"{setting}=True"
            told = cure.format(setting=setting, layer=module.layer_name)
            raise _fail(module, what, setting=setting, found=found, wanted=wanted, cure=told)
    if module.calls_differ:
        raise _fail(
            module,
            "one forward calls the layer more than once, with ranges that need different scales",
            setting="calls",
            found=f"{module.calls_differ} calls",
            wanted="one call, or calls with like ranges",
            cure="give each call a layer of its own (they may share the weight)",
        )


def _check_numbers(module: QuantModule) -> None:
    for name in () if module.float_layer else (*module.operands, "y"):
        scale, zero_point = module.get_buffer(f"{name}_scale"), module.get_buffer(f"{name}_zero_point")
        _check_scale(module, f"{name}_scale", scale)
        if zero_point.dtype != torch.int32 or not -128 <= int(zero_point) <= 127:
            raise _fail(
                module,
                f"{name}_zero_point is no int8 value",
                setting=f"{name}_zero_point",
                found=f"{int(zero_point)} ({zero_point.dtype})",
                wanted="an int32 buffer in [-128, 127]",
                cure="calibrate again",
            )
    if not isinstance(module, QWeighted):
        return
    _check_scale(module, "w_scale", module.w_scale)
    if module.weight_q.dtype != torch.int8:
        raise _fail(
            module,
            "weight_q is not int8",
            setting="weight_q",
            found=str(module.weight_q.dtype),
            wanted="torch.int8",
            cure="do not convert the model's dtype after freeze_model_weights",
        )
    x, y = module.affine("x"), module.affine("y")
    m = np.atleast_1d(multiplier(x.scale, module.w_scale.detach().cpu().numpy(), y.scale))
    wrong = m[~(np.isfinite(m) & (m >= F32_NORMAL))]
    if wrong.size:
        raise _fail(
            module,
            "the multiplier x_scale * w_scale / y_scale is no normal float32 number",
            setting="w_scale",
            found=f"{wrong[0]!s} (x_scale {x.scale:g}, y_scale {y.scale:g})",
            wanted=f"at least {F32_NORMAL:g} and finite",
            cure="calibrate with data that exercises the layer, or keep it float32 with 'quantize': False",
        )


def _check_scale(module: QuantModule, name: str, scale: torch.Tensor) -> None:
    values = scale.detach().float().flatten().tolist()
    wrong = [v for v in values if not (math.isfinite(v) and v > 0)]
    if wrong or scale.dtype != torch.float32:
        raise _fail(
            module,
            f"{name} is no usable scale",
            setting=name,
            found=f"{wrong[0] if wrong else values[0]} ({str(scale.dtype).removeprefix('torch.')})",
            wanted="finite float32 values above 0",
            cure="calibrate and freeze again",
        )
