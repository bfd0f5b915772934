# SPDX-License-Identifier: Apache-2.0
"""nn.adaptive_avg_pool2d: region i of n is [floor(i*size/n), ceil((i+1)*size/n)), each an average."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import Array, Window, average_count, average_f32, need


def _regions(size: int, n: int) -> list[slice]:
    return [slice(i * size // n, -(-(i + 1) * size // n)) for i in range(n)]


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x = need(inputs[0])
    oh, ow = (int(v) for v in attrs["output_size"])
    y = np.zeros((*x.shape[:2], oh, ow), dtype=np.float32)
    for i, rows in enumerate(_regions(x.shape[2], oh)):
        for j, cols in enumerate(_regions(x.shape[3], ow)):
            part = x[:, :, rows, cols]
            win = Window(part, part.shape[2:], {})
            y[:, :, i, j] = average_f32(part, win, average_count(win, {}))[:, :, 0, 0]
    return [y]
