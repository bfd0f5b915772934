# SPDX-License-Identifier: Apache-2.0
"""Float operators between quantized layers: through which of them a quantization can be followed.

`dequantize -> relu, max-pool, reshape -> average -> relu, reshape -> quantize` is one island that the
compiler closes. These functions look from an average back to the dequantize and on to the quantize.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import fx

from tvm.contrib.epu.chipy.call import Quantization, bind_arguments

if TYPE_CHECKING:
    from tvm.contrib.epu.chipy.convert import Conversion

AFTER_AVERAGE = frozenset(
    {
        "aten.relu.default",
        "aten.hardtanh.default",
        "aten.relu6.default",
        "aten.clamp.default",
        "aten.view.default",
        "aten._unsafe_view.default",
        "aten.clone.default",
        "aten.detach.default",
    }
)
BEFORE_AVERAGE = AFTER_AVERAGE | {"aten.max_pool2d.default"}


def produced(conversion: Conversion, node: object) -> Quantization | None:
    """Return the quantization whose dequantized values a traced value has, or None if it is plain float."""
    while isinstance(node, fx.Node) and str(node.target) in BEFORE_AVERAGE:
        node = node.args[0]
    if not isinstance(node, fx.Node) or node.op != "call_function":
        return None
    return _read(conversion, bind_arguments(node), "y")


def wanted_by_all(conversion: Conversion, node: fx.Node, quantization: Quantization) -> bool:
    """Return whether every user quantizes the value with this quantization, directly or behind glue."""
    for user in node.users:
        if str(user.target) in AFTER_AVERAGE:
            if not wanted_by_all(conversion, user, quantization):
                return False
            continue
        if user.op != "call_function":
            return False
        arguments = bind_arguments(user)
        uses = [name for name, value in arguments.items() if value is node]
        if any(_read(conversion, arguments, name) != quantization for name in uses):
            return False
    return bool(node.users)


def _read(conversion: Conversion, arguments: dict[str, object], prefix: str) -> Quantization | None:
    scale = conversion.read_constant(arguments.get(f"{prefix}_scale"))
    zero_point = conversion.read_constant(arguments.get(f"{prefix}_zero_point"))
    if scale is None or zero_point is None:
        return None
    return Quantization(np.float32(scale.item()), int(zero_point.item()))
