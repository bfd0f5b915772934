# SPDX-License-Identifier: Apache-2.0
"""contrib.epu.channel_affine: x * scale[c] rounded, + shift[c] rounded; channels are dim 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import Array, along, need, settle


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x = need(inputs[0])
    with np.errstate(all="ignore"):
        return [settle(x * along(need(inputs[1]), x.ndim, 1) + along(need(inputs[2]), x.ndim, 1))]
