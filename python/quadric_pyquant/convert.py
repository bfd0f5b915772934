# SPDX-License-Identifier: Apache-2.0
"""generate_quant_config and quantize_model: from a float model to one made of quantized layers, in place.

After quantize_model the model computes the same float values (float32 layers on our kernels); calibration and
freezing make it int8. What stays as it is is named in one warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from torch.nn.utils import parametrize

from opencgc.errors import QuantizationError, TensorTypeError
from quadric_pyquant.modules import FLOAT, QUANTIZED, Add, FloatAffine, FloatModule, QuantModule
from quadric_pyquant.nodes import GLUE_LAYERS
from quadric_pyquant.notes import warn
from quadric_pyquant.rewrite import Report, clone_sharing, restructure
from quadric_pyquant.settings import Settings, new_config
from quadric_pyquant.tags import named_layers, require_eval
from quadric_pyquant.tracing import is_torch_layer

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMED_AT_MOST = 12


def generate_quant_config(model: nn.Module) -> dict[str, Any]:
    """Return {"defaults": settings, "layers": {name: {}}} for the layers that quantize_model would make.

    An entry under "layers" takes the same keys as "defaults" and wins over them; a name of a block holds for
    everything inside.
    """
    trial = clone_sharing(model)
    restructure(trial)
    return new_config(name for name, module in named_layers(trial) if _kind(module) is not None)


def quantize_model(model: nn.Module, config: Mapping[str, Any] | None = None) -> nn.Module:
    """Turn the model's layers into quantized ones, in place; return the model.

    Warns with one QuantizationWarning that names what stays as it is.
    """
    require_eval(model, "quantize_model")
    _refuse_second_time(model)
    for name, module in named_layers(model):
        _check_layer(module, name)
    report = restructure(model)
    layers = [(name, module) for name, module in named_layers(model) if _kind(module) is not None]
    if not layers:
        raise QuantizationError(
            "the model has no layer that can be quantized",
            op=type(model).__name__,
            setting="model",
            found=f"modules: {', '.join(sorted({type(m).__name__ for m in model.modules()}))}",
            wanted="at least one of Conv2d, Linear, a sum of tensors, an average pool",
            cure="pass the model that holds the layers",
        )
    settings = Settings(config or {}, [name for name, _ in layers])
    untouched = _untouched(model)
    for name, module in layers:
        _adopt(module, name, settings)
    for name, module in named_layers(model):
        refused = isinstance(module, _BatchNorm) and hasattr(module, "fold_refused")
        if refused and module.running_mean is not None:
            FloatAffine.adopt(module, name, settings.of(name))
    _warn_of_rest(report, untouched)
    return model


def _kind(module: nn.Module) -> type[nn.Module] | None:
    """Return the key of a float layer in QUANTIZED, None if it is not one."""
    for kind in QUANTIZED:
        if isinstance(module, kind) and type(module).forward is kind.forward:
            inner: list[Any] = [getattr(cls, "_conv_forward", None) for cls in (type(module), kind)]
            # nn.MultiheadAttention reads the weight of this Linear and never calls it.
            uncalled = isinstance(module, NonDynamicallyQuantizableLinear)
            return None if inner[0] is not inner[1] or uncalled else kind
    return None


def _adopt(module: nn.Module, name: str, settings: Settings) -> None:
    kind, own = _kind(module), settings.of(name)
    if kind is None:
        return
    if not own["quantize"] and kind in FLOAT:
        FLOAT[kind].adopt(module, name, own)
        return
    if not own["quantize"] and settings.layers.get(name, {}).get("quantize") is False:
        warn(f"layer '{name}': an average pool is as precise as the layers around it; 'quantize' is ignored")
    QUANTIZED[kind].adopt(module, name, own)


def _refuse_second_time(model: nn.Module) -> None:
    for name, module in named_layers(model):
        if isinstance(module, QuantModule | FloatModule):
            raise QuantizationError(
                "the model is quantized already",
                layer=name,
                op=type(module).__name__,
                setting="model",
                found=type(module).__name__,
                wanted="a float model",
                cure="start from a new float model, or calibrate and freeze this one again",
            )


def _check_layer(module: nn.Module, name: str) -> None:
    """Raise on a layer whose weights are not float32 parameters; bake weights of a parametrization."""
    if _kind(module) is None and not parametrize.is_parametrized(module):
        return
    if parametrize.is_parametrized(module):
        for tensor in list(module.parametrizations):
            parametrize.remove_parametrizations(module, tensor, leave_parametrized=True)
    parameters = module._parameters  # noqa: SLF001 - the layer's own, not its children's
    place: dict[str, Any] = {"layer": name, "op": type(module).__name__}
    for tensor, value in parameters.items():
        if isinstance(value, nn.parameter.UninitializedTensorMixin):
            raise TensorTypeError(
                f"'{tensor}' has no shape yet",
                setting=tensor,
                found="a lazy module",
                wanted="a weight with a shape",
                cure="run the float model once",
                **place,
            )
        if value is not None and value.dtype != torch.float32:
            raise TensorTypeError(
                f"'{tensor}' is not float32",
                setting=tensor,
                found=str(value.dtype).removeprefix("torch."),
                wanted="float32",
                cure="call model.float() first (quantization starts from float32 weights)",
                **place,
            )
    if isinstance(module, nn.Conv2d | nn.Linear) and "weight" not in parameters:
        raise QuantizationError(
            "the weight is computed on each call",
            setting="weight",
            found="weight_norm, spectral_norm or a hook",
            wanted="a parameter",
            cure="call torch.nn.utils.remove_weight_norm or remove_spectral_norm on the layer first",
            **place,
        )


def _untouched(model: nn.Module) -> list[str]:
    """Return 'name (class)' of torch layers that stay float and are computed by torch."""
    rest = [(name, module) for name, module in named_layers(model) if _stays_float(module)]
    return [f"'{name}' ({type(module).__name__})" for name, module in rest]


def _stays_float(module: nn.Module) -> bool:
    if isinstance(module, _BatchNorm | Add | QuantModule | FloatModule) or _kind(module) is not None:
        return False
    if is_torch_layer(module):
        return not isinstance(module, GLUE_LAYERS)
    return isinstance(module, nn.Conv2d | nn.Linear)


def _warn_of_rest(report: Report, untouched: list[str]) -> None:
    functional = [f"{name} in {_called(layer)}" for layer, name in dict.fromkeys(report.float_operators)]
    untraced = [f"{_called(layer)} ({reason})" for layer, reason in report.untraced]
    for items, what in (
        (untouched, "layers that have no quantized form stay float"),
        (functional, "functional operators that have no quantized form stay float"),
        (untraced, "sums and average pools written as functions stay float where forward cannot be traced"),
    ):
        if items:
            more = f" and {len(items) - _NAMED_AT_MOST} more" if len(items) > _NAMED_AT_MOST else ""
            warn(f"quantize_model: {what}: {', '.join(items[:_NAMED_AT_MOST])}{more}")


def _called(layer: str) -> str:
    return f"'{layer}'" if layer else "the model's own forward"
