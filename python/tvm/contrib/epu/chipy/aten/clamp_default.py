# SPDX-License-Identifier: Apache-2.0
"""aten.clamp.default -> clip; a bound that is not given is infinite."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.clamp.default")
def convert(call: Call) -> Value:
    """Convert a clip to a range."""
    low = -math.inf if call.value("min") is None else float(call.number("min"))
    high = math.inf if call.value("max") is None else float(call.number("max"))
    return call.node("clip", [call.tensor("self")], a_min=low, a_max=high)
