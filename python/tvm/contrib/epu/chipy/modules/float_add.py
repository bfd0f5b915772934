# SPDX-License-Identifier: Apache-2.0
"""FloatAdd -> add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.add.default")
def convert(call: Call) -> Value:
    """Convert a float32 sum."""
    return call.node("add", [call.tensor("a"), call.tensor("b")])
