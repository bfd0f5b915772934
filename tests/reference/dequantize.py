# SPDX-License-Identifier: Apache-2.0
"""qnn.dequantize: numerics rule 3."""

from __future__ import annotations

from typing import Any

from .common import Array, dequantize, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    return [dequantize(need(inputs[0]), attrs["scale"], int(attrs["zero_point"]))]
