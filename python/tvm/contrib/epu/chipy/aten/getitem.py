# SPDX-License-Identifier: Apache-2.0
"""operator.getitem -> nothing: picks one result of an operator that has several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("<built-in function getitem>")
def convert(call: Call) -> Value:
    """Convert values[i]."""
    values, i = call.value("0"), call.value("1")
    result: Value = values[i]
    return result
