# SPDX-License-Identifier: Apache-2.0
"""qnn.add: numerics rule 5. Dequantize both, one float32 addition, quantize."""

from __future__ import annotations

from typing import Any

from .common import Array, dequantize, need, quantize


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    a = dequantize(need(inputs[0]), attrs["a_scale"], int(attrs["a_zero_point"]))
    b = dequantize(need(inputs[1]), attrs["b_scale"], int(attrs["b_zero_point"]))
    lo, hi = attrs.get("clamp_min", -128), attrs.get("clamp_max", 127)
    return [quantize(a + b, attrs["y_scale"], int(attrs["y_zero_point"]), lo, hi)]
