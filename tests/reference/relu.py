# SPDX-License-Identifier: Apache-2.0
"""nn.relu: x < 0 ? +0 : x."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import F32, Array, need


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x = need(inputs[0])
    return [np.where(x < 0, F32(0), x)]
