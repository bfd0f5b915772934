# SPDX-License-Identifier: Apache-2.0
"""aten.avg_pool2d.default -> nn.avg_pool2d."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter
from tvm.contrib.epu.chipy.window import pool_attrs

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.avg_pool2d.default")
def convert(call: Call) -> Value:
    """Convert an average over windows."""
    attrs = pool_attrs(call.value("kernel_size"), call.value("stride"), call.value("padding"))
    return call.node(
        "nn.avg_pool2d",
        [call.tensor("self")],
        **attrs,
        ceil_mode=bool(call.value("ceil_mode")),
        count_include_pad=bool(call.value("count_include_pad")),
        divisor_override=call.value("divisor_override") or 0,
    )
