# SPDX-License-Identifier: Apache-2.0
"""Numbers of int8 quantization on the PyTorch side: parameters from ranges, weights from float weights.

Nothing here computes an activation of the integer path: that is the C kernels' part (ops.py). Rounding is
the document's (docs/numerics.md, rule 2): true division, ties to even, clamp. Weights are symmetric in
[-127, 127].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

Q_MIN, Q_MAX = -128, 127
W_MAX = 127
INT32_MAX = 2**31 - 1
BIAS_MAX = 2**30  # leaves half of the accumulator to the products
F32_NORMAL = 2.0**-126
ZERO_CHANNEL_M = (
    2.0**-16
)  # multiplier of a channel without weights: its bias keeps 16 bits below an output step
UNSCALED_BIAS = 2.0**24

Floats = NDArray[np.floating[Any]]


class Affine(NamedTuple):
    """Quantization parameters of one tensor: value = (q - zero_point) * scale."""

    scale: float  # exactly representable in float32
    zero_point: int


class FrozenWeight(NamedTuple):
    """Integer form of a weight and its bias; w_scale has one value, or one per output channel."""

    weight_q: NDArray[np.int8]
    bias_q: NDArray[np.int32] | None
    w_scale: NDArray[np.float32]


def affine_of_range(low: float, high: float) -> Affine:
    """Return the int8 parameters that cover a range and hold 0 exactly (padding is 0)."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / (Q_MAX - Q_MIN))
    if scale < F32_NORMAL:  # nothing but zeros was seen: any scale is right for them
        return Affine(1.0, 0)
    zero_point = int(np.rint(Q_MIN - low / float(scale)))
    return Affine(float(scale), max(Q_MIN, min(Q_MAX, zero_point)))


def fake_quantize(x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor) -> torch.Tensor:
    """Return quantize and dequantize of x as float, with the gradient of a clamp (for fine-tuning)."""
    q = torch.clamp(torch.round(x / scale) + zero_point, Q_MIN, Q_MAX)
    y = (q - zero_point) * scale
    if not (torch.is_grad_enabled() and x.requires_grad):
        return y
    clamped = torch.clamp(x, (Q_MIN - zero_point) * scale, (Q_MAX - zero_point) * scale)
    return y.detach() + (clamped - clamped.detach())


def fake_quantize_weight(weight: torch.Tensor, *, per_channel: bool) -> torch.Tensor:
    """Return the weight rounded to its int8 grid, with a straight-through gradient."""
    absolute = weight.detach().abs()
    dims = list(range(1, weight.dim()))
    top = absolute.amax(dims, keepdim=True) if per_channel else absolute.amax()
    scale = torch.where(top > 0, top / W_MAX, torch.ones_like(top))
    y = torch.clamp(torch.round(weight.detach() / scale), -W_MAX, W_MAX) * scale
    return y + (weight - weight.detach())


def multiplier(x_scale: float, w_scale: NDArray[np.float32], y_scale: float) -> NDArray[np.float32]:
    """Return M of rule 4, evaluated in float32 in the written order."""
    with np.errstate(all="ignore"):
        product: NDArray[np.float32] = np.float32(x_scale) * w_scale.astype(np.float32)
        return np.asarray(product / np.float32(y_scale), dtype=np.float32)


def _weight_scale(top: Floats, bias: Floats, x_scale: float, y_scale: float | None) -> Floats:
    """Return the scale of each channel: its largest weight at 127, raised where bias or M would not fit."""
    if y_scale is None:
        empty = np.where(bias == 0, 1.0, np.abs(bias) / (x_scale * UNSCALED_BIAS))
    else:
        empty = np.full_like(top, ZERO_CHANNEL_M * y_scale / x_scale)
    scale = np.where(top > 0, top / W_MAX, empty)
    scale = np.maximum(scale, np.abs(bias) / (x_scale * BIAS_MAX))
    # The product of the scales, and M, must be normal float32 numbers.
    least = F32_NORMAL * max(1.0, y_scale or 0.0) * (1 + 2.0**-20)
    return np.asarray(np.maximum(scale, max(least / x_scale, F32_NORMAL)))


def freeze_weight(
    weight: Floats, bias: Floats | None, x: Affine, y_scale: float | None, *, per_channel: bool
) -> FrozenWeight:
    """Return the int8 weight and int32 bias of a layer; weight is [out, ...].

    The scale of a channel is raised until its bias and its largest possible sum fit int32.
    """
    rows = weight.reshape(weight.shape[0], -1).astype(np.float64)
    shift = np.zeros(rows.shape[0]) if bias is None else bias.astype(np.float64)
    top = np.abs(rows).max(axis=1, initial=0.0)
    if not per_channel:
        top = np.full_like(top, top.max())
    scale = _weight_scale(top, shift, x.scale, y_scale)
    if not per_channel:
        scale = np.full_like(scale, scale.max())
    span = max(Q_MAX - x.zero_point, x.zero_point - Q_MIN)
    while True:
        w_scale = scale.astype(np.float32)
        rounded = np.rint(rows.astype(np.float32) / w_scale[:, None])
        weight_q = np.clip(rounded, -W_MAX, W_MAX).astype(np.int64)
        bias_scale = (np.float32(x.scale) * w_scale).astype(np.float64)
        bias_q = np.rint(shift / bias_scale)
        total = np.abs(weight_q).sum(axis=1) * float(span) + np.abs(bias_q)
        excess = np.maximum(total / INT32_MAX, 1.0)
        if not per_channel:
            excess = np.full_like(excess, excess.max())
        if (excess == 1.0).all():
            break
        scale = scale * excess * (1 + 2.0**-10)
    return FrozenWeight(
        weight_q.astype(np.int8).reshape(weight.shape),
        None if bias is None else bias_q.astype(np.int32),
        w_scale if per_channel else w_scale[0],
    )
