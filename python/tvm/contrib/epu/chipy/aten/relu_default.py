# SPDX-License-Identifier: Apache-2.0
"""aten.relu.default -> nn.relu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.relu.default")
def convert(call: Call) -> Value:
    """Convert max(x, 0)."""
    return call.node("nn.relu", [call.tensor("self")])
