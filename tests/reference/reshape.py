# SPDX-License-Identifier: Apache-2.0
"""reshape: same elements in row-major order."""

from __future__ import annotations

from typing import Any

from .common import Array, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    return [need(inputs[0]).reshape([int(d) for d in attrs["newshape"]])]
