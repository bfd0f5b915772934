# SPDX-License-Identifier: Apache-2.0
"""QLinear -> qnn.quantize, contrib.epu.dense, qnn.dequantize."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.qlinear.default")
def convert(call: Call) -> Value:
    """Convert one quantized matrix product with constant weights."""
    x, y = call.quantization("x"), call.quantization("y")
    rows = call.quantize(call.tensor("x"), x)
    weight = call.tensor("weight_q")
    result = call.node(
        "contrib.epu.dense",
        [rows, weight, *call.optional("bias_q")],
        units=weight.type.shape[0],
        x_scale=x.scale,
        x_zero_point=x.zero_point,
        w_scale=call.scale_attr("w_scale"),
        y_scale=y.scale,
        y_zero_point=y.zero_point,
        out_dtype="int8",
    )
    return call.dequantize(result, y)
