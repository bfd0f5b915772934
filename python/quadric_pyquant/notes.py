# SPDX-License-Identifier: Apache-2.0
"""Warnings of the package: one class, so that a program can filter them or turn them into errors."""

from __future__ import annotations

import warnings


class QuantizationWarning(UserWarning):
    """Something was left as it is; the text names the layer, the reason and the cure."""


def warn(text: str) -> None:
    """Warn the caller of the public function."""
    warnings.warn(text, QuantizationWarning, stacklevel=3)
