# SPDX-License-Identifier: Apache-2.0
"""Kinds of nodes of a traced forward: sums, averages, sizes, and operators that need no quantized form."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn
from torch.nn import functional
from torch.nn.modules.dropout import _DropoutNd

if TYPE_CHECKING:
    from collections.abc import Callable

ADDS: set[Any] = {operator.add, torch.add}
INPLACE_ADDS: set[Any] = {operator.iadd}
IMAGE_DIMS = ([2, 3], [-2, -1], [-1, -2], [3, 2])
POOL_ARGUMENTS = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

# Exact in float32, or values moved about: the graph has them as glue between quantized layers, and nobody is
# warned that they have no quantized form. As layers, as methods, as functions.
GLUE_LAYERS = (
    nn.ReLU,
    nn.ReLU6,
    nn.Hardtanh,
    nn.MaxPool2d,
    nn.Flatten,
    nn.Unflatten,
    nn.Identity,
    _DropoutNd,
    nn.Sequential,
    nn.ModuleList,
    nn.ModuleDict,
)
_GLUE = {"relu", "relu_", "clamp", "flatten", "reshape", "permute", "transpose", "chunk", "split"} | {
    "squeeze",
    "unsqueeze",
}
GLUE_METHODS = frozenset(
    _GLUE
    | {"clamp_", "view", "unflatten", "contiguous", "clone", "detach", "detach_", "expand", "t"}
    | {"size", "dim", "numel", "float", "type_as", "to"}
)
# boolean_dispatch's inner function is how fx sees functional.max_pool2d: its name is "fn".
GLUE_FUNCTIONS = frozenset(
    _GLUE
    | {
        "relu6",
        "hardtanh",
        "hardtanh_",
        "dropout",
        "dropout2d",
        "stochastic_depth",
        "max_pool2d",
        "fn",
        "boolean_dispatch",
    }
    | {"getattr", "getitem", "len", "_assert"}
)


def operator_name(node: fx.Node) -> str:
    """Return the name of a functional node's operator."""
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))


def is_glue(node: fx.Node) -> bool:
    """Return whether a functional node needs no quantized form."""
    known = GLUE_METHODS if node.op == "call_method" else GLUE_FUNCTIONS
    return operator_name(node) in known or is_number(node)


def is_number(node: Any) -> bool:
    """Return whether a node is a size or computed from sizes (not a tensor)."""
    if not isinstance(node, fx.Node):
        return isinstance(node, int | float)
    if node.op == "call_method":
        return node.target in ("size", "dim", "numel", "item")
    if node.op != "call_function":
        return False
    if node.target is getattr:
        return node.args[1] in ("shape", "ndim", "training")
    if node.target is len:
        return True
    return getattr(node.target, "__module__", "") in ("_operator", "math") and all(map(is_number, node.args))


def is_sum(node: fx.Node) -> bool:
    """Return whether a functional node is the sum of two tensors, with no further arguments."""
    functions = ADDS | INPLACE_ADDS
    named = node.target in ("add", "add_") if node.op == "call_method" else node.target in functions
    if not named or len(node.args) != 2 or node.kwargs.get("alpha", 1) != 1 or set(node.kwargs) - {"alpha"}:
        return False
    return all(isinstance(arg, fx.Node) and not is_number(arg) for arg in node.args)


def changes_first(node: fx.Node) -> bool:
    """Return whether a sum is written into its first operand."""
    return node.target in INPLACE_ADDS or node.target == "add_"


def average_pool(node: fx.Node) -> tuple[nn.Module, bool] | None:
    """Return (module, whether to flatten after it) for a functional average over height and width."""
    make: Callable[[fx.Node], tuple[nn.Module, bool] | None] | None = _AVERAGES.get(node.target)
    if make is None or len(node.all_input_nodes) != 1:  # more inputs: a window computed from sizes
        return None
    return make(node)


def _argument(node: fx.Node, position: int, name: str, default: Any) -> Any:
    value = node.args[position] if len(node.args) > position else node.kwargs.get(name, default)
    return list(value) if isinstance(value, tuple | list) else value


def _adaptive(node: fx.Node) -> tuple[nn.Module, bool]:
    return nn.AdaptiveAvgPool2d(_argument(node, 1, "output_size", None)), False


def _windowed(node: fx.Node) -> tuple[nn.Module, bool]:
    given = dict(zip(POOL_ARGUMENTS, node.args[1:], strict=False)) | dict(node.kwargs)
    arguments: dict[str, Any] = {name: value for name, value in given.items() if name in POOL_ARGUMENTS}
    return nn.AvgPool2d(**arguments), False


def _mean(node: fx.Node) -> tuple[nn.Module, bool] | None:
    if _argument(node, 1, "dim", None) not in IMAGE_DIMS or set(node.kwargs) - {"dim", "keepdim", "input"}:
        return None
    return nn.AdaptiveAvgPool2d(1), not _argument(node, 2, "keepdim", default=False)


_AVERAGES: dict[Any, Any] = {
    functional.adaptive_avg_pool2d: _adaptive,
    functional.avg_pool2d: _windowed,
    torch.mean: _mean,
    "mean": _mean,
}
