# SPDX-License-Identifier: Apache-2.0
"""FloatAffine: a BatchNorm that could not be folded, as one float32 scale and shift per channel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from quadric_pyquant import ops
from quadric_pyquant.modules.base import FloatModule


def affine_of_batchnorm(norm: Any) -> tuple[Tensor, Tensor]:
    """Return (scale, shift) of a BatchNorm in eval mode, in float64: y = x * scale + shift."""
    scale = torch.rsqrt(norm.running_var.double() + norm.eps)
    if norm.weight is not None:
        scale = scale * norm.weight.detach().double()
    shift = -norm.running_mean.double() * scale
    if norm.bias is not None:
        shift = shift + norm.bias.detach().double()
    return scale, shift


class FloatAffine(FloatModule):
    """Float32 x * scale[c] + shift[c]."""

    scale: Tensor
    shift: Tensor

    def _prepare(self) -> None:
        scale, shift = affine_of_batchnorm(self)
        self.register_buffer("scale", scale.float())
        self.register_buffer("shift", shift.float())

    def forward(self, x: Tensor) -> Tensor:
        """Return the scaled input; x is [N, C], [N, C, L] or [N, C, H, W]."""
        if self.training:
            shape = (1, -1, *[1] * (x.dim() - 2))
            return x * self.scale.view(shape) + self.shift.view(shape)
        image = x.unsqueeze(-1) if x.dim() == 3 else x
        y: Tensor = ops.channel_affine(image, self.scale, self.shift, self.layer_name)
        return y.view(x.shape)
