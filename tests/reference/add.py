# SPDX-License-Identifier: Apache-2.0
"""add: element-wise float32 sum with broadcasting."""

from __future__ import annotations

from typing import Any

from .common import Array, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    return [need(inputs[0]) + need(inputs[1])]
