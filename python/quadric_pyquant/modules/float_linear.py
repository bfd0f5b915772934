# SPDX-License-Identifier: Apache-2.0
"""FloatLinear: nn.Linear in float32 on the C kernel."""

from __future__ import annotations

from torch import Tensor, nn

from quadric_pyquant import ops
from quadric_pyquant.modules.base import FloatModule
from quadric_pyquant.modules.linear_input import check_folded_rank


class FloatLinear(FloatModule):
    """Float32 matrix product with the transposed weight."""

    weight: Tensor
    bias: Tensor | None

    def forward(self, x: Tensor) -> Tensor:
        """Return the product; x is [..., in]."""
        check_folded_rank(self, self.layer_name, x)
        if self.training:
            return nn.functional.linear(x, self.weight, self.bias)
        y: Tensor = ops.linear(x, self.weight, self.bias, self.layer_name)
        return y
