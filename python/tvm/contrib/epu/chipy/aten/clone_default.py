# SPDX-License-Identifier: Apache-2.0
"""aten.clone.default -> nothing: the graph has no memory layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.clone.default")
def convert(call: Call) -> Value:
    """Convert a copy: the value itself."""
    return call.tensor("self")
