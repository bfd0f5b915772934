# SPDX-License-Identifier: Apache-2.0
"""aten.conv2d.default -> the float32 operator: a layer that has no quantization parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy import float_layers
from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.conv2d.default")
def convert(call: Call) -> Value:
    """Convert a float layer."""
    return float_layers.conv2d(call, "input")
