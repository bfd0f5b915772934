# SPDX-License-Identifier: Apache-2.0
"""Warnings of the package: one class, so that a program can filter them or turn them into errors."""

from __future__ import annotations

import sys
import warnings


class QuantizationWarning(UserWarning):
    """Something was left as it is; the text names the layer, the reason and the cure."""


def warn(text: str) -> None:
    """Warn at the line of the user's program that called into the package."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - warnings count frames the same way
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, QuantizationWarning, stacklevel=level)
