# SPDX-License-Identifier: Apache-2.0
"""aten.squeeze.dim -> reshape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.squeeze.dim")
def convert(call: Call) -> Value:
    """Convert one dimension of size 1 away."""
    return call.node("reshape", [call.tensor("self")], newshape=call.shape)
