# SPDX-License-Identifier: Apache-2.0
"""aten.add.Tensor -> add: a float32 sum (a quantized one is a QAdd)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencgc.errors import OperatorError
from tvm.contrib.epu.chipy.call import source_place
from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.add.Tensor")
def convert(call: Call) -> Value:
    """Convert a sum with broadcasting, or with a number."""
    if call.number("alpha") != 1:
        raise OperatorError(
            "alpha: a sum with a factor has no operator",
            layer=call.layer,
            op=call.op,
            setting="alpha",
            found=f"{call.number('alpha')}{source_place(call.fx)}",
            wanted="1",
            cure="multiply in the model, before the sum",
        )
    return call.node("add", [call.operand("self"), call.operand("other")])
