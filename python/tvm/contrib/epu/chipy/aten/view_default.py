# SPDX-License-Identifier: Apache-2.0
"""aten.view.default -> reshape: what flatten and reshape trace to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.view.default")
def convert(call: Call) -> Value:
    """Convert a reshape; -1 in the size is already known from tracing."""
    return call.node("reshape", [call.tensor("self")], newshape=call.shape)
