# SPDX-License-Identifier: Apache-2.0
"""QLinear: nn.Linear in int8 (contrib.epu.dense), on inputs [..., in]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from quadric_pyquant import ops
from quadric_pyquant.modules.linear_input import check_folded_rank
from quadric_pyquant.modules.qweighted import QWeighted

if TYPE_CHECKING:
    from torch import Tensor


class QLinear(QWeighted):
    """Int8 matrix product with the transposed weight."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the product in the layer's stage."""
        check_folded_rank(self, self.layer_name, x)
        return self.run(x)

    def compute(self, x: Tensor, weight: Tensor) -> Tensor:
        """Compute the float product with a given weight."""
        return functional.linear(x, weight, self.bias)

    def integer_forward(self, *operands: Tensor) -> Tensor:
        """Return the int8 product, dequantized."""
        y: Tensor = ops.qlinear(
            operands[0],
            self.weight_q,
            self.bias_q,
            self.x_scale,
            self.x_zero_point,
            self.w_scale,
            self.y_scale,
            self.y_zero_point,
            self.layer_name,
        )
        return y
