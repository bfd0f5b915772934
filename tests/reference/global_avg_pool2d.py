# SPDX-License-Identifier: Apache-2.0
"""nn.global_avg_pool2d: the average of one window that covers the image."""

from __future__ import annotations

from typing import Any

from .common import Array, Window, average_count, average_f32, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x = need(inputs[0])
    win = Window(x, x.shape[2:], {})
    return [average_f32(x, win, average_count(win, {}))]
