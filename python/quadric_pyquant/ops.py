# SPDX-License-Identifier: Apache-2.0
"""Custom operators of namespace opencgc: one per layer type, opaque to torch.export.

Input and output are float32 tensors; in between stand the operators of the graph (quantize, integer
operator, dequantize), evaluated by the C library. So a module's value is by construction the value of the
graph that the exporter writes for it. EXPORT_CONTRACT.md lists the arguments; the layer's name is always
the last one.
"""
# ruff: noqa: ARG005, PLR0913, PLR0917 - an operator has the arguments of its schema, its shape function too

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

import opencgc
from opencgc.attrs import Reference, format_attrs
from opencgc.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

Attrs = dict[str, Any]

_INT8 = {"out_dtype": "int8"}
_POOL = "int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad"
_POOL += ", int? divisor_override"
_WEIGHT = "Tensor x, Tensor weight_q, Tensor? bias_q, Tensor x_scale, Tensor x_zero_point, Tensor w_scale"
_CONV = "int[] stride, int[] padding, int[] dilation, int groups"
_Y = "Tensor y_scale, Tensor y_zero_point"


def _define(name: str, schema: str, fake: Callable[..., Tensor]) -> Callable[[Callable[..., Tensor]], Any]:
    """Register a function as operator opencgc::name, with its shape function."""

    def register(body: Callable[..., Tensor]) -> Any:
        op = torch.library.custom_op(
            f"opencgc::{name}", body, mutates_args=(), schema=f"({schema}) -> Tensor"
        )
        op.register_fake(fake)
        return op

    return register


# ---- to and from the C library ----


def _array(tensor: Tensor) -> NDArray[Any]:
    """Return a tensor's values in logical (row-major) order, whatever its memory format."""
    array: NDArray[Any] = tensor.detach().cpu().contiguous().numpy()
    return array


def _evaluate(layer: str, op: str, attrs: str, inputs: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Evaluate one operator of the graph; an error names the layer."""
    try:
        result: NDArray[Any] = opencgc.eval_op(op, attrs, inputs)[0]
    except Error as error:
        if error.layer:
            raise
        place = replace(error.place, layer=layer, op=error.op or op)
        head, where = f"error[{error.id}] ", f"{error.op}: " if error.op else ""
        text = f"{head}layer '{layer}' ({place.op}): {error.message.removeprefix(head).removeprefix(where)}"
        raise type(error).from_text(text, place, error.id) from error
    return result


def _quantize(x: Tensor, scale: Tensor, zero_point: Tensor, layer: str) -> NDArray[Any]:
    attrs = format_attrs(_INT8, (np.float32(scale.item()), int(zero_point.item())))
    return _evaluate(layer, "qnn.quantize", attrs, [_array(x)])


def _dequantize(q: NDArray[Any], scale: Tensor, zero_point: Tensor, layer: str, like: Tensor) -> Tensor:
    attrs = format_attrs({}, (np.float32(scale.item()), int(zero_point.item())))
    y = _evaluate(layer, "qnn.dequantize", attrs, [q])
    return torch.from_numpy(y).to(like.device)


def _affine(name: str, scale: Tensor, zero_point: Tensor) -> Attrs:
    return {f"{name}_scale": np.float32(scale.item()), f"{name}_zero_point": int(zero_point.item())}


def _with_weight_scale(
    operands: list[NDArray[Any]], w_scale: Tensor
) -> tuple[list[NDArray[Any]], np.float32 | Reference]:
    """Return the operands and the attribute w_scale: a number, or the operand that holds one per channel."""
    if w_scale.dim() == 0:
        return operands, np.float32(w_scale.item())
    return [*operands, _array(w_scale)], Reference(f"input[{len(operands)}]")


def _operands(x: NDArray[Any], weight: Tensor, bias: Tensor | None) -> list[NDArray[Any]]:
    return [x, _array(weight)] + ([] if bias is None else [_array(bias)])


def _float_op(
    layer: str, op: str, attrs: Mapping[str, Any], operands: list[NDArray[Any]], like: Tensor
) -> Tensor:
    return torch.from_numpy(_evaluate(layer, op, format_attrs(attrs), operands)).to(like.device)


def _conv_attrs(
    weight: Tensor, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> Attrs:
    return {
        "strides": list(stride),
        "padding": list(padding),
        "dilation": list(dilation),
        "groups": groups,
        "channels": weight.shape[0],
        "kernel_size": list(weight.shape[2:]),
    }


def _pool_attrs(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Attrs:
    if not kernel_size:
        return {"pool_size": list(x.shape[2:])}
    return {
        "pool_size": list(kernel_size),
        "strides": list(stride),
        "padding": list(padding),
        "ceil_mode": ceil_mode,
        "count_include_pad": count_include_pad,
        "divisor_override": divisor_override or 0,
    }


# ---- shapes, for torch.export ----


def _conv_shape(x: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    top, left, bottom, right = padding
    padded = functional.pad(x, (left, right, top, bottom))
    y = functional.conv2d(padded, weight.to(x.dtype), None, stride, 0, dilation, groups)
    return x.new_empty(y.shape)


def _linear_shape(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _pool_shape(x: Tensor, kernel_size: Any, stride: Any, padding: Any, *rest: Any) -> Tensor:
    if not kernel_size:
        return x.new_empty((*x.shape[:2], 1, 1))
    return x.new_empty(functional.avg_pool2d(x, kernel_size, stride, padding[:2], *rest).shape)


# ---- int8 layers ----


@_define(
    "qconv2d",
    f"{_WEIGHT}, {_Y}, {_CONV}, str layer",
    lambda x, wq, bq, xs, xz, ws, ys, yz, s, p, d, g, layer: _conv_shape(x, wq, s, p, d, g),
)
def qconv2d(
    x: Tensor,
    weight_q: Tensor,
    bias_q: Tensor | None,
    x_scale: Tensor,
    x_zero_point: Tensor,
    w_scale: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    layer: str,
) -> Tensor:
    """Convolution by rules 2, 4 and 3."""
    q = _quantize(x, x_scale, x_zero_point, layer)
    operands, w = _with_weight_scale(_operands(q, weight_q, bias_q), w_scale)
    attrs = format_attrs(
        _conv_attrs(weight_q, stride, padding, dilation, groups)
        | _INT8
        | {"bias_fusion": bias_q is not None}
        | _affine("x", x_scale, x_zero_point)
        | {"w_zero_point": 0, "w_scale": w}
        | _affine("y", y_scale, y_zero_point)
    )
    y = _evaluate(layer, "contrib.epu.qlinear_conv2d", attrs, operands)
    return _dequantize(y, y_scale, y_zero_point, layer, x)


@_define(
    "qlinear",
    f"{_WEIGHT}, {_Y}, str layer",
    lambda x, wq, bq, xs, xz, ws, ys, yz, layer: _linear_shape(x, wq),
)
def qlinear(
    x: Tensor,
    weight_q: Tensor,
    bias_q: Tensor | None,
    x_scale: Tensor,
    x_zero_point: Tensor,
    w_scale: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    layer: str,
) -> Tensor:
    """Matrix product with the transposed weight by rules 2, 4 and 3."""
    q = _quantize(x, x_scale, x_zero_point, layer)
    operands, w = _with_weight_scale(_operands(q, weight_q, bias_q), w_scale)
    attrs = format_attrs(
        {"units": weight_q.shape[0]}
        | _affine("x", x_scale, x_zero_point)
        | {"w_scale": w}
        | _affine("y", y_scale, y_zero_point)
        | _INT8
    )
    y = _evaluate(layer, "contrib.epu.dense", attrs, operands)
    return _dequantize(y, y_scale, y_zero_point, layer, x)


@_define(
    "qadd",
    "Tensor a, Tensor b, Tensor a_scale, Tensor a_zero_point, Tensor b_scale, Tensor b_zero_point, "
    f"{_Y}, str layer",
    lambda a, b, *rest: a.new_empty(torch.broadcast_shapes(a.shape, b.shape)),
)
def qadd(
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    a_zero_point: Tensor,
    b_scale: Tensor,
    b_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    layer: str,
) -> Tensor:
    """Sum of two tensors by rules 2, 5 and 3."""
    operands = [_quantize(a, a_scale, a_zero_point, layer), _quantize(b, b_scale, b_zero_point, layer)]
    attrs = format_attrs(
        _affine("a", a_scale, a_zero_point)
        | _affine("b", b_scale, b_zero_point)
        | _affine("y", y_scale, y_zero_point)
    )
    y = _evaluate(layer, "qnn.add", attrs, operands)
    return _dequantize(y, y_scale, y_zero_point, layer, a)


@_define(
    "qavg_pool2d",
    f"Tensor x, Tensor x_scale, Tensor x_zero_point, {_Y}, {_POOL}, str layer",
    lambda x, xs, xz, ys, yz, k, s, p, ceil, include, divisor, layer: _pool_shape(
        x, k, s, p, ceil, include, divisor
    ),
)
def qavg_pool2d(
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    layer: str,
) -> Tensor:
    """Average over windows (all of height and width where kernel_size is empty) by rules 2, 7 and 3."""
    q = _quantize(x, x_scale, x_zero_point, layer)
    attrs = format_attrs(
        _pool_attrs(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        | _affine("x", x_scale, x_zero_point)
        | _affine("y", y_scale, y_zero_point)
    )
    y = _evaluate(layer, "qnn.avg_pool2d", attrs, [q])
    return _dequantize(y, y_scale, y_zero_point, layer, x)


# ---- float32 layers: same arguments as torch's, our order of additions ----


@_define(
    "conv2d",
    f"Tensor x, Tensor weight, Tensor? bias, {_CONV}, str layer",
    lambda x, weight, bias, s, p, d, g, layer: _conv_shape(x, weight, s, p, d, g),
)
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    layer: str,
) -> Tensor:
    """Float32 convolution."""
    attrs = _conv_attrs(weight, stride, padding, dilation, groups)
    return _float_op(layer, "nn.conv2d", attrs, _operands(_array(x), weight, bias), x)


@_define(
    "linear",
    "Tensor x, Tensor weight, Tensor? bias, str layer",
    lambda x, weight, bias, layer: _linear_shape(x, weight),
)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None, layer: str) -> Tensor:
    """Float32 matrix product with the transposed weight."""
    attrs = {"units": weight.shape[0]}
    return _float_op(layer, "nn.dense", attrs, _operands(_array(x), weight, bias), x)


@_define(
    "add",
    "Tensor a, Tensor b, str layer",
    lambda a, b, layer: a.new_empty(torch.broadcast_shapes(a.shape, b.shape)),
)
def add(a: Tensor, b: Tensor, layer: str) -> Tensor:
    """Float32 sum."""
    return _float_op(layer, "add", {}, [_array(a), _array(b)], a)


@_define("avg_pool2d", f"Tensor x, {_POOL}, str layer", lambda x, *rest: _pool_shape(x, *rest[:-1]))
def avg_pool2d(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    layer: str,
) -> Tensor:
    """Float32 average over windows (all of height and width where kernel_size is empty)."""
    if not kernel_size:
        return _float_op(layer, "nn.global_avg_pool2d", {}, [_array(x)], x)
    attrs = _pool_attrs(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return _float_op(layer, "nn.avg_pool2d", attrs, [_array(x)], x)


@_define(
    "channel_affine",
    "Tensor x, Tensor scale, Tensor shift, str layer",
    lambda x, scale, shift, layer: x.new_empty(x.shape),
)
def channel_affine(x: Tensor, scale: Tensor, shift: Tensor, layer: str) -> Tensor:
    """Float32 x * scale + shift per channel."""
    return _float_op(layer, "contrib.epu.channel_affine", {}, [_array(x), _array(scale), _array(shift)], x)
