# SPDX-License-Identifier: Apache-2.0
"""qnn.avg_pool2d: numerics rule 7. S exact, M = f32(f32(x_scale/count)/y_scale), each window's own count."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import F32, Array, Window, average_count, f32, need, round_clamp


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x = need(inputs[0]).astype(np.int64) - int(attrs["x_zero_point"])
    win = Window(x, attrs["pool_size"], attrs)
    p = win.padded(x, 0)
    total = np.zeros((*x.shape[:2], win.oh, win.ow), dtype=np.int64)
    for ky in range(win.kh):
        for kx in range(win.kw):
            total += win.tap(p, ky, kx)
    m = (F32(attrs["x_scale"]) / average_count(win, attrs)) / F32(attrs["y_scale"])
    lo, hi = attrs.get("clamp_min", -128), attrs.get("clamp_max", 127)
    return [round_clamp(f32(total) * m, int(attrs["y_zero_point"]), lo, hi)]
