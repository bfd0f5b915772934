# SPDX-License-Identifier: Apache-2.0
"""QAvgPool2d -> nn.global_avg_pool2d or nn.avg_pool2d between a dequantize and a quantize.

Such a float average means the integer average with the two scales around it (docs/operators.md). Where the
neighbours' scales are not the layer's own, the layer's quantize and dequantize are written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy import glue
from tvm.contrib.epu.chipy.registry import converter
from tvm.contrib.epu.chipy.window import pool_attrs

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.qavg_pool2d.default")
def convert(call: Call) -> Value:
    """Convert one quantized average pool; an empty kernel_size is the global average."""
    x, y = call.quantization("x"), call.quantization("y")
    image = call.tensor("x")
    if glue.produced(call.conversion, call.arguments["x"]) != x:
        image = call.dequantize(call.quantize(image, x), x)
    if call.value("kernel_size"):
        attrs = pool_attrs(call.value("kernel_size"), call.value("stride"), call.value("padding"))
        average = call.node(
            "nn.avg_pool2d",
            [image],
            **attrs,
            ceil_mode=bool(call.value("ceil_mode")),
            count_include_pad=bool(call.value("count_include_pad")),
            divisor_override=call.value("divisor_override") or 0,
        )
    else:
        average = call.node("nn.global_avg_pool2d", [image])
    if glue.wanted_by_all(call.conversion, call.fx, y):
        return average
    return call.dequantize(call.quantize(average, y), y)
