# SPDX-License-Identifier: Apache-2.0
"""nn.avg_pool2d: the float32 average in its written order."""

from __future__ import annotations

from typing import Any

from .common import Array, Window, average_count, average_f32, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x = need(inputs[0])
    win = Window(x, attrs["pool_size"], attrs)
    return [average_f32(x, win, average_count(win, attrs))]
