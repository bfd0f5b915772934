# SPDX-License-Identifier: Apache-2.0
"""Reads attribute text as the IR prints it: 'padding=[1, 1], x_scale=0.5f, out_dtype="int8"' -> dict.

A value that names a tensor (input[2], meta[relay.Constant][7]) is looked up in what the caller gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .common import F32, Array

_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*")
_TENSOR = re.compile(r"(input|meta\[relay\.Constant\])\[(\d+)\]")
_NUMBER = re.compile(r"-?\d+(\.\d*)?([eE][-+]?\d+)?f?|-?inff|nanf")
Lookup = Callable[[str, int], Array]


def _value(text: str, at: int, tensor: Lookup) -> tuple[Any, int]:
    if text[at] == "[":
        items: list[Any] = []
        at += 1
        while text[at] != "]":
            item, at = _value(text, at, tensor)
            items.append(item)
            at += len(re.match(r"\s*,?\s*", text[at:]).group())  # type: ignore[union-attr]
        return items, at + 1
    if text[at] == '"':
        end = text.index('"', at + 1)
        return text[at + 1 : end], end + 1
    if found := _TENSOR.match(text, at):
        return tensor(found[1], int(found[2])), found.end()
    for word, meaning in (("True", True), ("False", False)):
        if text.startswith(word, at):
            return meaning, at + len(word)
    if found := _NUMBER.match(text, at):
        is_float = text[found.end() - 1] == "f"
        return F32(found[0].rstrip("f")) if is_float else int(found[0]), found.end()
    raise ValueError(f"cannot read an attribute value at {text[at : at + 20]!r}")


def parse_attrs(text: str, tensor: Lookup, positional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Attributes by name; values without a name take the positional names in order."""
    attrs: dict[str, Any] = {}
    at, names = 0, list(positional)
    text = text.strip()
    while at < len(text):
        if found := _NAME.match(text, at):
            name, at = found[1], found.end()
        else:
            name = names.pop(0)
        attrs[name], at = _value(text, at, tensor)
        at += len(re.match(r"\s*,?\s*", text[at:]).group())  # type: ignore[union-attr]
    return attrs
