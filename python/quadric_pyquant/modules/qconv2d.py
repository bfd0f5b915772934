# SPDX-License-Identifier: Apache-2.0
"""QConv2d: nn.Conv2d in int8 (contrib.epu.qlinear_conv2d).

Zero padding is part of the operator and pads with x_zero_point. Other padding modes are a torch pad in
front of an unpadded convolution: right values, but the graph has no such operator
(validate_model_export_ready says so).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from quadric_pyquant import ops
from quadric_pyquant.modules.geometry import conv_padding, pad, pair
from quadric_pyquant.modules.qweighted import QWeighted

if TYPE_CHECKING:
    from torch import Tensor


class QConv2d(QWeighted):
    """Int8 2-D convolution."""

    groups: int
    padding_mode: str

    def _prepare(self) -> None:
        super()._prepare()
        self.pads, self.steps, self.dilations = conv_padding(self), pair(self.stride), pair(self.dilation)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution in the layer's stage; x is [N, C, H, W] or [C, H, W]."""
        return self.run(x) if x.dim() != 3 else self.run(x.unsqueeze(0)).squeeze(0)

    def compute(self, x: Tensor, weight: Tensor) -> Tensor:
        """Compute the float convolution with a given weight."""
        if self.padding_mode == "zeros" and self.pads[:2] == self.pads[2:]:
            return functional.conv2d(
                x, weight, self.bias, self.steps, self.pads[:2], self.dilations, self.groups
            )
        padded = pad(x, self.pads, self.padding_mode)
        return functional.conv2d(padded, weight, self.bias, self.steps, 0, self.dilations, self.groups)

    def integer_forward(self, *operands: Tensor) -> Tensor:
        """Return the int8 convolution, dequantized."""
        x, pads = operands[0], self.pads
        if self.padding_mode != "zeros":
            x, pads = pad(x, self.pads, self.padding_mode), [0, 0, 0, 0]
        y: Tensor = ops.qconv2d(
            x,
            self.weight_q,
            self.bias_q,
            self.x_scale,
            self.x_zero_point,
            self.w_scale,
            self.y_scale,
            self.y_zero_point,
            self.steps,
            pads,
            self.dilations,
            self.groups,
            self.layer_name,
        )
        return y
