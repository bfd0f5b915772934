# SPDX-License-Identifier: Apache-2.0
"""clip: min(max(x, a_min), a_max); what no bound changes stays as it is, NaN and the sign of zero too."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import F32, Array, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x, low, high = need(inputs[0]), F32(attrs["a_min"]), F32(attrs["a_max"])
    raised = np.where(x < low, low, x)
    return [np.where(raised > high, high, raised)]
