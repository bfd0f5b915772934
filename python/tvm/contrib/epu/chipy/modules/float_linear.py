# SPDX-License-Identifier: Apache-2.0
"""FloatLinear -> the float32 operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy import float_layers
from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.linear.default")
def convert(call: Call) -> Value:
    """Convert a float layer."""
    return float_layers.linear(call, "x")
