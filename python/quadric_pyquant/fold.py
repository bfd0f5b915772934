# SPDX-License-Identifier: Apache-2.0
"""fold_batchnorm: BatchNorm in eval mode moves into the convolution or linear layer whose output it reads.

Pairs are found by dataflow, never by the order of declaration: the model is traced, where a part of it
cannot be traced the parts inside are. A pair folds only if its layer is called once, feeds nothing but the
BatchNorm (through Identity and Dropout), and shares its weight with nothing: then the model's values do not
change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.modules.dropout import _DropoutNd

from quadric_pyquant.calls import Calls, replace_module
from quadric_pyquant.modules.float_affine import affine_of_batchnorm
from quadric_pyquant.nodes import operator_name
from quadric_pyquant.notes import warn
from quadric_pyquant.padding import absorb_padding
from quadric_pyquant.tags import named_layers, require_eval

if TYPE_CHECKING:
    from torch import fx

_DIMENSIONS: dict[type[nn.Module], tuple[type[nn.Module], ...]] = {
    nn.BatchNorm1d: (nn.Conv1d, nn.ConvTranspose1d, nn.Linear),
    nn.BatchNorm2d: (nn.Conv2d, nn.ConvTranspose2d),
    nn.BatchNorm3d: (nn.Conv3d, nn.ConvTranspose3d),
}


def fold_batchnorm(model: nn.Module) -> int:
    """Fold each BatchNorm into the layer before it, in place; return how many were folded.

    Warns with a QuantizationWarning for each reason, naming every BatchNorm that stays for it.
    """
    require_eval(model, "fold_batchnorm")
    dataflow = Calls.of(absorb_padding(model))
    names = {module: name for name, module in named_layers(model)}
    count = 0
    left: dict[tuple[str, bool], list[str]] = {}
    for norm, name in names.items():
        if not isinstance(norm, _BatchNorm):
            continue
        layer, reason = _find_layer(norm, dataflow, names)
        if layer is not None:
            reason = _fold(layer, norm)
        if layer is None or reason:
            norm.fold_refused = reason
            left.setdefault((reason, norm.running_mean is None), []).append(f"'{name}'")
            continue
        layer.folded_batchnorm = name if isinstance(layer, nn.Linear) else ""
        replace_module(model, norm, nn.Identity().eval())
        count += 1
    for (reason, unusable), norms in left.items():
        stays = "cannot be exported" if unusable else "a float32 scale and shift per channel takes its place"
        warn(f"BatchNorm not folded: {', '.join(norms)}: {reason}; {stays}")
    return count


def _find_layer(norm: Any, flow: Calls, names: dict[nn.Module, str]) -> tuple[Any, str]:
    """Return (layer to fold into, "") or (None, reason)."""
    if norm.running_mean is None or norm.running_var is None:
        return (
            None,
            "it keeps no running statistics (track_running_stats=False), so it computes on each batch",
        )
    calls = flow.calls.get(norm, [])
    if len(calls) != 1:
        many = f"it is called {len(calls)} times"
        hidden = f"no traced part of the model calls it ({flow.untraced or 'it is unused'})"
        return None, many if calls else hidden
    part, node = calls[0]
    source = _through_identity(part, node.all_input_nodes[0])
    layer = part.get_submodule(str(source.target)) if source.op == "call_module" else None
    if not isinstance(layer, _fitting(norm)):
        found = _describe(source, layer)
        return None, f"its input comes from {found}, not from a convolution or linear layer"
    name = names[layer]
    for problem, text in (
        (len(flow.calls[layer]) > 1, f"layer '{name}' is called {len(flow.calls[layer])} times"),
        (len(source.users) > 1, f"the output of layer '{name}' is also read elsewhere"),
        (_shares_weight(layer, flow), f"layer '{name}' shares its weight with another module or computes it"),
        (_channels(layer) != norm.num_features, f"layer '{name}' has another number of channels"),
        (bool(layer._forward_hooks), f"layer '{name}' has forward hooks"),  # noqa: SLF001
    ):
        if problem:
            return None, text
    return layer, ""


def _describe(source: fx.Node, layer: nn.Module | None) -> str:
    if layer is not None:
        return type(layer).__name__
    return "an input of the model" if source.op == "placeholder" else f"'{operator_name(source)}'"


def _through_identity(part: nn.Module, node: fx.Node) -> fx.Node:
    """Return the first node before Identity and Dropout nodes that only this path reads."""
    while len(node.users) == 1:
        if node.op == "call_module":
            passes = isinstance(part.get_submodule(str(node.target)), nn.Identity | _DropoutNd)
        else:
            passes = node.target is nn.functional.dropout and node.kwargs.get("training") is False
        if not passes:
            break
        node = node.all_input_nodes[0]
    return node


def _fitting(norm: nn.Module) -> tuple[type[nn.Module], ...]:
    for kind, layers in _DIMENSIONS.items():
        if isinstance(norm, kind):
            return layers
    return (_ConvNd,)  # SyncBatchNorm takes every rank


def _shares_weight(layer: nn.Module, flow: Calls) -> bool:
    parameters = layer._parameters  # noqa: SLF001
    weight = parameters.get("weight")  # absent where a parametrization computes it
    return weight is None or any(p is not None and flow.owners[id(p)] > 1 for p in parameters.values())


def _channels(layer: Any) -> int:
    return int(layer.out_features if isinstance(layer, nn.Linear) else layer.out_channels)


def _fold(layer: Any, norm: Any) -> str:
    """Change weight and bias; return "" or why the result is unusable (then nothing is changed)."""
    scale, shift = affine_of_batchnorm(norm)
    weight = layer.weight.detach().double()
    bias = torch.zeros_like(shift) if layer.bias is None else layer.bias.detach().double()
    if isinstance(layer, _ConvTransposeNd):  # weight [in, out / groups, ...]
        groups = layer.groups
        grouped = weight.view(groups, weight.shape[0] // groups, weight.shape[1], -1)
        folded = (grouped * scale.view(groups, 1, -1, 1)).view_as(weight)
    else:
        folded = weight * scale.view(-1, *[1] * (weight.dim() - 1))
    new_weight, new_bias = folded.to(layer.weight.dtype), (bias * scale + shift).to(layer.weight.dtype)
    if not (torch.isfinite(new_weight).all() and torch.isfinite(new_bias).all()):
        return "the folded weight would not be finite"
    layer.weight.data = new_weight
    if layer.bias is None:
        layer.bias = nn.Parameter(new_bias, requires_grad=layer.weight.requires_grad)
    else:
        layer.bias.data = new_bias
    return ""
