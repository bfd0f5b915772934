# SPDX-License-Identifier: Apache-2.0
"""FloatConv2d: nn.Conv2d in float32 on the C kernel, whose order of additions is written."""

from __future__ import annotations

from torch import Tensor, nn

from quadric_pyquant import ops
from quadric_pyquant.modules.base import FloatModule
from quadric_pyquant.modules.geometry import conv_padding, pad, pair


class FloatConv2d(FloatModule):
    """Float32 2-D convolution."""

    weight: Tensor
    bias: Tensor | None
    groups: int
    padding_mode: str

    def _prepare(self) -> None:
        self.pads, self.steps, self.dilations = conv_padding(self), pair(self.stride), pair(self.dilation)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution; x is [N, C, H, W] or [C, H, W]."""
        if x.dim() == 3:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        pads = self.pads
        if self.padding_mode != "zeros" or self.training:
            x, pads = pad(x, self.pads, self.padding_mode), [0, 0, 0, 0]
        if self.training:
            return nn.functional.conv2d(x, self.weight, self.bias, self.steps, 0, self.dilations, self.groups)
        y: Tensor = ops.conv2d(
            x, self.weight, self.bias, self.steps, pads, self.dilations, self.groups, self.layer_name
        )
        return y
