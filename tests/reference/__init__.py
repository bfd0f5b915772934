# SPDX-License-Identifier: Apache-2.0
"""Independent meaning of every operator, in numpy, written from docs/operators.md and docs/numerics.md alone.

One file per operator, named as in src/ops/ops.def: `reference(inputs, attrs) -> [outputs]`. It shares no code
with the product, so a wrong definition there cannot hide behind engines that agree with each other. Speed
does not matter here.
"""

from __future__ import annotations

import importlib
import pathlib
from typing import Any, cast

from .common import Array, Reference  # noqa: TC001 - names of this package

_FOLDER = pathlib.Path(__file__).parent
# The operators whose c_name is not the last part of the IR name are the only ones that need a line.
C_NAMES = {
    "qnn.quantize": "quantize",
    "qnn.dequantize": "dequantize",
    "qnn.add": "qnn_add",
    "qnn.avg_pool2d": "qnn_avg_pool2d",
    "contrib.epu.dense": "qlinear_dense",
}


def c_name(op: str) -> str:
    """File name of an operator: 'nn.relu' -> 'relu'."""
    return C_NAMES.get(op, op.rsplit(".", 1)[-1])


def has_reference(op: str) -> bool:
    """Whether tests/reference/<c_name>.py exists."""
    return (_FOLDER / f"{c_name(op)}.py").exists()


def evaluate(op: str, inputs: list[Array | None], attrs: dict[str, Any]) -> list[Array]:
    """Results of one operator. attrs: what differs from the defaults; a per-channel value is an array."""
    module = importlib.import_module(f"{__name__}.{c_name(op)}")
    return cast("Reference", module.reference)(inputs, attrs)
