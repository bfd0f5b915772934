# SPDX-License-Identifier: Apache-2.0
"""PaddedConv2d: nn.Conv2d with a border of zeros of its own size on each side, in front of its padding.

It stands for a zero pad and the convolution behind it ('same' padding with strides), which is one operator.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class PaddedConv2d(nn.Conv2d):
    """Float convolution behind a border [top, left, bottom, right] of zeros."""

    border: list[int]

    @classmethod
    def adopt(cls, conv: nn.Conv2d, border: list[int]) -> PaddedConv2d:
        """Turn a convolution into this class in place, or widen the border that it has."""
        old = getattr(conv, "border", [0, 0, 0, 0])
        conv.__class__ = cls
        padded: PaddedConv2d = conv
        padded.border = [a + b for a, b in zip(old, border, strict=True)]
        return padded

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x with its border."""
        top, left, bottom, right = self.border
        padded = functional.pad(x, (left, right, top, bottom))
        y: Tensor = self._conv_forward(padded, self.weight, self.bias)
        return y
