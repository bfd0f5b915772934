# SPDX-License-Identifier: Apache-2.0
"""QAdd: the int8 sum of two tensors (qnn.add), with a scale for each operand and the result."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from quadric_pyquant import ops
from quadric_pyquant.modules.base import QuantModule


def is_values(*operands: Any) -> bool:
    """Return whether all operands are float tensors (an Add may also stand for sizes or indices)."""
    return all(isinstance(v, torch.Tensor) and v.is_floating_point() for v in operands)


class QAdd(QuantModule):
    """Int8 a + b."""

    operands: ClassVar[tuple[str, ...]] = ("a", "b")

    def forward(self, a: Any, b: Any) -> Any:
        """Return the sum in the layer's stage."""
        return self.run(a, b) if is_values(a, b) else a + b

    def float_forward(self, *operands: torch.Tensor) -> torch.Tensor:
        """Return the float sum."""
        a, b = operands
        return a + b

    def integer_forward(self, *operands: torch.Tensor) -> torch.Tensor:
        """Return the int8 sum, dequantized."""
        a, b = operands
        y: torch.Tensor = ops.qadd(
            a,
            b,
            self.a_scale,
            self.a_zero_point,
            self.b_scale,
            self.b_zero_point,
            self.y_scale,
            self.y_zero_point,
            self.layer_name,
        )
        return y
