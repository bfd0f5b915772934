# SPDX-License-Identifier: Apache-2.0
"""aten.hardtanh.default -> clip: ReLU6 and Hardtanh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.hardtanh.default")
def convert(call: Call) -> Value:
    """Convert a clip to a range."""
    limits = {"a_min": float(call.number("min_val")), "a_max": float(call.number("max_val"))}
    return call.node("clip", [call.tensor("self")], **limits)
