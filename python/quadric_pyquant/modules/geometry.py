# SPDX-License-Identifier: Apache-2.0
"""Paddings and windows in the graph's form: [top, left, bottom, right] and [height, width]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn import functional

if TYPE_CHECKING:
    import torch
    from torch import nn


def pair(value: Any) -> list[int]:
    """Return an int or a pair of ints as [height, width]."""
    if isinstance(value, int):
        return [value, value]
    first, second = value
    return [int(first), int(second)]


def conv_padding(conv: nn.Conv2d) -> list[int]:
    """Return the padding of a convolution with its border, if it is a PaddedConv2d."""
    return [
        own + more for own, more in zip(_own_padding(conv), getattr(conv, "border", [0] * 4), strict=True)
    ]


def _own_padding(conv: nn.Conv2d) -> list[int]:
    """Return torch's padding; 'same' puts the odd row or column at the end."""
    if conv.padding == "valid":
        return [0, 0, 0, 0]
    if conv.padding == "same":
        total = [d * (k - 1) for d, k in zip(pair(conv.dilation), pair(conv.kernel_size), strict=True)]
        before = [t // 2 for t in total]
        return [*before, *(t - b for t, b in zip(total, before, strict=True))]
    rows, columns = pair(conv.padding)
    return [rows, columns, rows, columns]


def pad(x: torch.Tensor, padding: list[int], mode: str) -> torch.Tensor:
    """Return x with a border; mode is torch's padding_mode."""
    if not any(padding):
        return x
    top, left, bottom, right = padding
    return functional.pad(x, (left, right, top, bottom), mode="constant" if mode == "zeros" else mode)
