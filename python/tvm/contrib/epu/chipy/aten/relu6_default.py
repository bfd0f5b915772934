# SPDX-License-Identifier: Apache-2.0
"""aten.relu6.default -> clip: functional.relu6 (the module is a hardtanh)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.relu6.default")
def convert(call: Call) -> Value:
    """Convert a clip to 0..6."""
    return call.node("clip", [call.tensor("self")], a_min=0.0, a_max=6.0)
