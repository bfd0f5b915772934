# SPDX-License-Identifier: Apache-2.0
"""What several references need: rounding (numerics rules 2 to 4) and window geometry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Reference = Callable[[list[Array | None], dict[str, Any]], list[Array]]
F32 = np.float32


def need(x: Array | None) -> Array:
    """An operand that must be there."""
    if x is None:
        raise ValueError("operand missing")
    return x


def f32(x: Any) -> Array:
    """Rounds to float32, element by element."""
    return np.asarray(x, dtype=np.float32)


def round_clamp(v: Array, zp: int, lo: int = -128, hi: int = 127) -> Array:
    """clamp(rne(v) + zp, lo, hi) as int8; NaN gives lo. v is float32; the rest is exact in float64."""
    q = np.rint(v.astype(np.float64)) + zp
    q = np.where(np.isnan(q), lo, np.clip(q, lo, hi))
    return q.astype(np.int8)


def quantize(x: Array, scale: Any, zp: int, lo: int = -128, hi: int = 127) -> Array:
    """Rule 2: true float32 division."""
    with np.errstate(all="ignore"):
        return round_clamp(f32(x) / F32(scale), zp, lo, hi)


def dequantize(q: Array, scale: Any, zp: int) -> Array:
    """Rule 3."""
    return f32(f32(q.astype(np.int64) - zp) * F32(scale))


def requantize(acc: Array, attrs: dict[str, Any], channel_axis: int) -> Array:
    """Rule 4 for exact sums: M = f32(f32(x_scale*w_scale)/y_scale), one per channel or one for all."""
    assert acc.size == 0 or (acc.min() >= -(2**31) and acc.max() < 2**31), "case overflows int32"
    with np.errstate(all="ignore"):
        m: Array = (F32(attrs["x_scale"]) * f32(attrs["w_scale"])) / F32(attrs["y_scale"])
        assert m.dtype == np.float32
        v = f32(acc) * along(m, acc.ndim, channel_axis)
    return round_clamp(
        v, int(attrs["y_zero_point"]), attrs.get("clamp_min", -128), attrs.get("clamp_max", 127)
    )


def settle(v: Array) -> Array:
    """Rule 9: a NaN that arithmetic made has the bits 0x7fc00000."""
    return np.where(np.isnan(v), np.uint32(0x7FC00000).view(np.float32), v)


def along(v: Any, ndim: int, axis: int) -> Array:
    """A scalar, or one value per channel, shaped to broadcast along axis."""
    values: Array = np.asarray(v)
    shape = [1] * ndim
    if values.size > 1:
        shape[axis] = -1
    shaped: Array = values.reshape(shape)
    return shaped


def extent(size: int, k: int, stride: int, before: int, after: int, dil: int, ceil: bool) -> int:  # noqa: PLR0917
    """Output extent of a window. With ceil, a last window must start inside the input or its first pad."""
    span = size + before + after - dil * (k - 1) - 1
    out = -(-span // stride) + 1 if ceil else span // stride + 1
    if ceil and (out - 1) * stride >= size + before:
        out -= 1
    return out


class Window:
    """Geometry of one convolution or pooling over NCHW."""

    def __init__(self, x: Array, kernel: Any, attrs: dict[str, Any]) -> None:
        self.h, self.w = x.shape[2:]
        self.kh, self.kw = (int(k) for k in kernel)
        self.sh, self.sw = attrs.get("strides", [1, 1])
        self.top, self.left, self.bottom, self.right = attrs.get("padding", [0, 0, 0, 0])
        self.dh, self.dw = attrs.get("dilation", [1, 1])
        ceil = bool(attrs.get("ceil_mode", False))
        self.oh = extent(self.h, self.kh, self.sh, self.top, self.bottom, self.dh, ceil)
        self.ow = extent(self.w, self.kw, self.sw, self.left, self.right, self.dw, ceil)

    def padded(self, x: Array, fill: Any) -> Array:
        """x with fill around it, large enough for every window."""
        rows = max((self.oh - 1) * self.sh + (self.kh - 1) * self.dh + 1, self.top + self.h)
        cols = max((self.ow - 1) * self.sw + (self.kw - 1) * self.dw + 1, self.left + self.w)
        out = np.full((*x.shape[:2], rows, cols), fill, dtype=x.dtype)
        out[:, :, self.top : self.top + self.h, self.left : self.left + self.w] = x
        return out

    def tap(self, padded: Array, ky: int, kx: int) -> Array:
        """The input element under kernel position (ky, kx) of every output pixel: [n, c, oh, ow]."""
        y, x = ky * self.dh, kx * self.dw
        rows = slice(y, y + (self.oh - 1) * self.sh + 1, self.sh)
        cols = slice(x, x + (self.ow - 1) * self.sw + 1, self.sw)
        return padded[:, :, rows, cols]

    def counts(self, include_pad: bool) -> Array:
        """How many cells each average divides by, as PyTorch counts: [oh, ow] int64."""

        def one(n: int, k: int, stride: int, pads: tuple[int, int], size: int) -> Array:
            before, after = pads
            start = np.arange(n) * stride - before
            end = np.minimum(start + k, size + after)
            if not include_pad:
                start, end = np.maximum(start, 0), np.minimum(end, size)
            return end - start

        rows = one(self.oh, self.kh, self.sh, (self.top, self.bottom), self.h)
        cols = one(self.ow, self.kw, self.sw, (self.left, self.right), self.w)
        return np.outer(rows, cols)


def average_count(win: Window, attrs: dict[str, Any]) -> Array:
    """Divisor of each window as float32 [oh, ow]."""
    if attrs.get("divisor_override", 0):
        return np.full((win.oh, win.ow), attrs["divisor_override"], dtype=np.float32)
    return f32(win.counts(bool(attrs.get("count_include_pad", True))))


def average_f32(x: Array, win: Window, count: Array) -> Array:
    """Float average: the window's sum row by row from +0, each sum rounded to float32, then one division."""
    p = win.padded(x, F32(0))
    total = np.zeros((*x.shape[:2], win.oh, win.ow), dtype=np.float32)
    for ky in range(win.kh):
        for kx in range(win.kw):
            with np.errstate(all="ignore"):
                total = total + win.tap(p, ky, kx)
    return settle(np.asarray(total / count, dtype=np.float32))
