# SPDX-License-Identifier: Apache-2.0
"""aten.adaptive_avg_pool2d.default -> nn.global_avg_pool2d or nn.adaptive_avg_pool2d."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.adaptive_avg_pool2d.default")
def convert(call: Call) -> Value:
    """Convert an average over equal regions."""
    size = call.shape[-2:]
    if size == [1, 1]:
        return call.node("nn.global_avg_pool2d", [call.tensor("self")])
    return call.node("nn.adaptive_avg_pool2d", [call.tensor("self")], output_size=size)
