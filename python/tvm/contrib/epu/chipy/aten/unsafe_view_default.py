# SPDX-License-Identifier: Apache-2.0
"""aten._unsafe_view.default -> reshape: a reshape of a tensor that is not contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten._unsafe_view.default")
def convert(call: Call) -> Value:
    """Convert a reshape; tensors of the graph are row-major, so it is the same as view."""
    return call.node("reshape", [call.tensor("self")], newshape=call.shape)
