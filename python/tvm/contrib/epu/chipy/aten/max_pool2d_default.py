# SPDX-License-Identifier: Apache-2.0
"""aten.max_pool2d.default -> nn.max_pool2d."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter
from tvm.contrib.epu.chipy.window import pool_attrs, two

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.max_pool2d.default")
def convert(call: Call) -> Value:
    """Convert a maximum over windows."""
    attrs = pool_attrs(call.value("kernel_size"), call.value("stride"), call.value("padding"))
    dilation, ceil_mode = two(call.value("dilation")), bool(call.value("ceil_mode"))
    return call.node("nn.max_pool2d", [call.tensor("self")], **attrs, dilation=dilation, ceil_mode=ceil_mode)
