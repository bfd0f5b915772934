# SPDX-License-Identifier: Apache-2.0
"""contrib.epu.dense: numerics rule 4, weights [units, in]."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import Array, along, need, requantize


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x, w = need(inputs[0]).astype(np.int64), need(inputs[1]).astype(np.int64)
    x = x - int(attrs["x_zero_point"])
    w = w - along(np.asarray(attrs.get("w_zero_point", 0), dtype=np.int64), 2, 0)
    acc = x @ w.T
    if len(inputs) > 2 and inputs[2] is not None:
        acc = acc + inputs[2].astype(np.int64)
    return [requantize(acc, attrs, acc.ndim - 1)]
