# SPDX-License-Identifier: Apache-2.0
"""FloatAffine (a BatchNorm that could not be folded) -> contrib.epu.channel_affine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("opencgc.channel_affine.default")
def convert(call: Call) -> Value:
    """Convert x * scale[c] + shift[c]."""
    operands = [call.tensor("x"), call.tensor("scale"), call.tensor("shift")]
    return call.node("contrib.epu.channel_affine", operands)
