# SPDX-License-Identifier: Apache-2.0
"""The input of a linear layer into which a BatchNorm1d was folded.

BatchNorm1d on [N, C] scales the linear layer's features; on [N, T, C] it scales T, which a weight cannot
hold. fold_batchnorm cannot see the rank, so the layer checks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencgc.errors import TensorTypeError

if TYPE_CHECKING:
    import torch
    from torch import nn


def check_folded_rank(layer: nn.Module, layer_name: str, x: torch.Tensor) -> None:
    """Raise if a BatchNorm1d was folded into the layer and x is not a matrix."""
    folded = getattr(layer, "folded_batchnorm", "")
    if folded and x.dim() != 2:
        raise TensorTypeError(
            f"BatchNorm1d '{folded}' was folded into this layer, which is right for inputs [N, C] only",
            layer=layer_name,
            op=type(layer).__name__,
            setting="input shape",
            found=tuple(x.shape),
            wanted="two dimensions",
            cure=f"keep '{folded}' out of fold_batchnorm, or flatten the input of this layer",
        )
