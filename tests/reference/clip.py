# SPDX-License-Identifier: Apache-2.0
"""clip: min(max(x, a_min), a_max). Operands hold no NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import F32, Array, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    return [np.minimum(np.maximum(need(inputs[0]), F32(attrs["a_min"])), F32(attrs["a_max"]))]
