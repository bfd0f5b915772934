# SPDX-License-Identifier: Apache-2.0
"""Attribute text: Python values in the form that the graph's text has them.

Scales are float32 and are written as the shortest decimal that reads back to the same float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opencgc.errors import AttributeValueError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Reference(str):
    """Text that stands for itself in attribute text: meta[relay.Constant][3] or input[2]."""

    __slots__ = ()


def format_value(value: Any) -> str:
    """Return one attribute value as text."""
    if isinstance(value, Reference):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "True" if value else "False"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        number = np.float32(value)
        if np.isnan(number) or np.isinf(number) != np.isinf(value):
            raise AttributeValueError("a number is not finite in float32", found=value)
        return f"{number!s}" if np.isinf(number) else f"{number!s}f"  # infinite: a bound that is not there
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(format_value(item) for item in value) + "]"
    raise AttributeValueError("a value has no attribute text", found=type(value).__name__)


def format_attrs(attrs: Mapping[str, Any], positional: tuple[Any, ...] = ()) -> str:
    """Return attribute text of positional values and named ones, in the order given."""
    parts = [format_value(value) for value in positional]
    parts += [f"{name}={format_value(value)}" for name, value in attrs.items()]
    return ", ".join(parts)
