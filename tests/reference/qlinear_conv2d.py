# SPDX-License-Identifier: Apache-2.0
"""contrib.epu.qlinear_conv2d: numerics rule 4 over NCHW and OIHW; padding is x_zero_point."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import Array, Window, along, need, requantize


def conv_sums(x: Array, w: Array, win: Window, groups: int) -> Array:
    """Exact int64 sums of products: x is [n, c, rows, cols] already padded, w OIHW."""
    n, oc = x.shape[0], w.shape[0]
    acc = np.zeros((n, oc, win.oh, win.ow), dtype=np.int64)
    cg, og = x.shape[1] // groups, oc // groups
    for g in range(groups):
        wg = w[g * og : (g + 1) * og]
        for ky in range(win.kh):
            for kx in range(win.kw):
                part = win.tap(x, ky, kx)[:, g * cg : (g + 1) * cg]
                # float64 holds these sums exactly: |products| < 2^17, channels < 2^30
                taps = wg[:, :, ky, kx].astype(np.float64)
                dots = np.einsum("oc,nchw->nohw", taps, part.astype(np.float64), optimize=True)
                acc[:, g * og : (g + 1) * og] += dots.astype(np.int64)
    return acc


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x, w = need(inputs[0]).astype(np.int64), need(inputs[1]).astype(np.int64)
    x = x - int(attrs["x_zero_point"])
    w = w - along(np.asarray(attrs["w_zero_point"], dtype=np.int64), 4, 0)
    win = Window(x, w.shape[2:], attrs)
    acc = conv_sums(win.padded(x, 0), w, win, int(attrs.get("groups", 1)))
    if len(inputs) > 2 and inputs[2] is not None:
        acc = acc + along(inputs[2].astype(np.int64), 4, 1)
    return [requantize(acc, attrs, 1)]
