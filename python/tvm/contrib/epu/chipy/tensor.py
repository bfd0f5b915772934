# SPDX-License-Identifier: Apache-2.0
"""Tensor: the declared shape and element type of one input."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opencgc.errors import TensorTypeError
from opencgc.tensors import dtype_names

DTYPES = dtype_names()


@dataclass(frozen=True)
class Tensor:
    """Shape and element type of one forward() parameter: Tensor(shape=(1, 3, 224, 224), dtype="float32")."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        """Check both; a list is accepted as the shape."""
        try:
            shape = tuple(int(size) for size in self.shape)
        except (TypeError, ValueError):
            shape = ()
        if shape != tuple(self.shape) or any(size < 1 for size in shape):
            raise TensorTypeError(
                "a Tensor has an unusable shape",
                setting="shape",
                found=self.shape,
                wanted="positive integers",
                cure="give every size as a number; programs have static shapes",
            )
        object.__setattr__(self, "shape", shape)
        if self.dtype not in DTYPES or not isinstance(getattr(torch, self.dtype, None), torch.dtype):
            raise TensorTypeError(
                "a Tensor has an unusable dtype",
                setting="dtype",
                found=self.dtype,
                wanted=", ".join(DTYPES),
                cure='declare what forward() takes: dtype="float32" for most models',
            )

    def example(self) -> torch.Tensor:
        """Return a tensor of this type; tracing never looks at its values."""
        return torch.zeros(self.shape, dtype=getattr(torch, self.dtype))

    def __str__(self) -> str:
        """Return the call that makes it."""
        return f"Tensor(shape={self.shape}, dtype={self.dtype!r})"
