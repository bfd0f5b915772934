# SPDX-License-Identifier: Apache-2.0
"""Add: a functional sum (a + b, a += b, torch.add, Tensor.add_) as a child module, before it is quantized."""

from __future__ import annotations

from typing import Any

from torch import nn


class Add(nn.Module):
    """a + b."""

    def forward(self, a: Any, b: Any) -> Any:
        """Return the sum; the operands may be anything that + takes (sizes, for example)."""
        return a + b
