# SPDX-License-Identifier: Apache-2.0
"""aten.alias.default -> nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.alias.default")
def convert(call: Call) -> Value:
    """Convert a second name of a tensor: the value itself."""
    return call.tensor("self")
