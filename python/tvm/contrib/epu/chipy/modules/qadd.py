# SPDX-License-Identifier: Apache-2.0
"""QAdd -> two qnn.quantize, qnn.add, qnn.dequantize."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.qadd.default")
def convert(call: Call) -> Value:
    """Convert one quantized sum."""
    a, b, y = call.quantization("a"), call.quantization("b"), call.quantization("y")
    operands = [call.quantize(call.tensor("a"), a), call.quantize(call.tensor("b"), b)]
    result = call.node(
        "qnn.add",
        operands,
        a_scale=a.scale,
        a_zero_point=a.zero_point,
        b_scale=b.scale,
        b_zero_point=b.zero_point,
        y_scale=y.scale,
        y_zero_point=y.zero_point,
    )
    return call.dequantize(result, y)
