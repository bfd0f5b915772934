# SPDX-License-Identifier: Apache-2.0
"""nn.conv2d: float32 products, each rounded, added in the order bias (or +0), ky, kx, ci; padding is 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import F32, Array, Window, along, need, settle


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x, w = need(inputs[0]), need(inputs[1])
    win, groups = Window(x, w.shape[2:], attrs), int(attrs.get("groups", 1))
    p = win.padded(x, F32(0))
    y = np.zeros((x.shape[0], w.shape[0], win.oh, win.ow), dtype=np.float32)
    if len(inputs) > 2 and inputs[2] is not None:
        y = np.broadcast_to(along(inputs[2], 4, 1), y.shape)
    cg, og = w.shape[1], w.shape[0] // groups
    group_of = np.arange(w.shape[0]) // og
    for ky in range(win.kh):
        for kx in range(win.kw):
            tap = win.tap(p, ky, kx)
            for ci in range(cg):
                with np.errstate(all="ignore"):
                    y = y + tap[:, group_of * cg + ci] * along(w[:, ci, ky, kx], 4, 1)
    assert y.dtype == np.float32
    return [settle(y)]
