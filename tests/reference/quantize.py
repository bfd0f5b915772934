# SPDX-License-Identifier: Apache-2.0
"""qnn.quantize: numerics rule 2. Positional attributes come as scale and zero_point."""

from __future__ import annotations

from typing import Any

from .common import Array, need, quantize


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    return [quantize(need(inputs[0]), attrs["scale"], int(attrs["zero_point"]))]
