# SPDX-License-Identifier: Apache-2.0
"""Float32 convolution and matrix product, from ATen or from a Float layer: the same nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.window import four, two

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


def conv2d(call: Call, x: str) -> Value:
    """Return nn.conv2d; x is the schema's name of the image."""
    weight = call.tensor("weight")
    channels, _, *kernel = weight.type.shape
    return call.node(
        "nn.conv2d",
        [call.tensor(x), weight, *call.optional("bias")],
        strides=two(call.value("stride")),
        padding=four(call.value("padding")),
        dilation=two(call.value("dilation")),
        groups=call.value("groups"),
        channels=channels,
        kernel_size=kernel,
    )


def linear(call: Call, x: str) -> Value:
    """Return nn.dense; x is the schema's name of the rows."""
    weight = call.tensor("weight")
    return call.node("nn.dense", [call.tensor(x), weight, *call.optional("bias")], units=weight.type.shape[0])
