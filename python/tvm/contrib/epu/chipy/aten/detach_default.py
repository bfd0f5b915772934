# SPDX-License-Identifier: Apache-2.0
"""aten.detach.default -> nothing: the graph has no gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.detach.default")
def convert(call: Call) -> Value:
    """Convert x.detach() and x.detach_(): the value itself."""
    return call.tensor("self")
