# SPDX-License-Identifier: Apache-2.0
"""nn.dense: float32 products, each rounded, added in the order bias (or +0), then k ascending."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import Array, need, settle


def reference(inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    x, w = need(inputs[0]), need(inputs[1])
    y = np.zeros((*x.shape[:-1], w.shape[0]), dtype=np.float32)
    if len(inputs) > 2 and inputs[2] is not None:
        y[...] = inputs[2]
    for k in range(w.shape[1]):
        with np.errstate(all="ignore"):
            y = y + x[..., k : k + 1] * w[:, k]
    return [settle(y)]
