# SPDX-License-Identifier: Apache-2.0
"""PyTorch's forms of window settings as the graph has them: [h, w] pairs and [top, left, bottom, right]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def two(value: int | Sequence[int]) -> list[int]:
    """Return [h, w] of an int or of one or two values."""
    values = [value] if isinstance(value, int) else [int(item) for item in value]
    return values * 2 if len(values) == 1 else values


def four(padding: int | Sequence[int]) -> list[int]:
    """Return [top, left, bottom, right] of a symmetric padding, or of one given in that form."""
    values = two(padding)
    return values * 2 if len(values) == 2 else values


def pool_attrs(kernel_size: Any, stride: Any, padding: Any) -> dict[str, list[int]]:
    """Return the attributes that all pools share; no stride means the kernel's size."""
    kernel = two(kernel_size)
    return {"pool_size": kernel, "strides": two(stride) if stride else kernel, "padding": four(padding)}
