# SPDX-License-Identifier: Apache-2.0
"""QConv2d -> qnn.quantize, contrib.epu.qlinear_conv2d, qnn.dequantize."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter
from tvm.contrib.epu.chipy.window import four, two

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.qconv2d.default")
def convert(call: Call) -> Value:
    """Convert one quantized convolution."""
    x, y = call.quantization("x"), call.quantization("y")
    image = call.quantize(call.tensor("x"), x)
    weight = call.tensor("weight_q")
    bias = call.optional("bias_q")
    channels, _, *kernel = weight.type.shape
    result = call.node(
        "contrib.epu.qlinear_conv2d",
        [image, weight, *bias],
        strides=two(call.value("stride")),
        padding=four(call.value("padding")),
        dilation=two(call.value("dilation")),
        groups=call.value("groups"),
        channels=channels,
        kernel_size=kernel,
        out_dtype="int8",
        bias_fusion=bool(bias),
        x_zero_point=x.zero_point,
        x_scale=x.scale,
        w_zero_point=0,
        w_scale=call.scale_attr("w_scale"),
        y_zero_point=y.zero_point,
        y_scale=y.scale,
    )
    return call.dequantize(result, y)
