# SPDX-License-Identifier: Apache-2.0
"""FloatAvgPool2d -> nn.global_avg_pool2d for an empty kernel_size, else nn.avg_pool2d."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter
from tvm.contrib.epu.chipy.window import pool_attrs

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.avg_pool2d.default")
def convert(call: Call) -> Value:
    """Convert a float32 average."""
    if not call.value("kernel_size"):
        return call.node("nn.global_avg_pool2d", [call.tensor("x")])
    attrs = pool_attrs(call.value("kernel_size"), call.value("stride"), call.value("padding"))
    return call.node(
        "nn.avg_pool2d",
        [call.tensor("x")],
        **attrs,
        ceil_mode=bool(call.value("ceil_mode")),
        count_include_pad=bool(call.value("count_include_pad")),
        divisor_override=call.value("divisor_override") or 0,
    )
