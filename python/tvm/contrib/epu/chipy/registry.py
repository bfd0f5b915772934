# SPDX-License-Identifier: Apache-2.0
"""The converters by the full name of the operator they convert ("aten.view.default").

A converter registers itself when its file is imported; every file of aten/ and modules/ is imported, so one
more converter is one more file and no list.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from opencgc.errors import InternalError, OperatorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call

    Converter = Callable[[Call], Value]

FOLDERS = ("aten", "modules")
SOURCES = "python/tvm/contrib/epu/chipy/aten/"  # from the root of the repository
SIMILAR = 0.7  # of difflib: relu and gelu are, sigmoid and conv2d are not
_converters: dict[str, Converter] = {}


def converter(name: str) -> Callable[[Converter], Converter]:
    """Register a function as the converter of an operator: @converter("aten.relu.default")."""

    def register(function: Converter) -> Converter:
        if name in _converters:
            raise InternalError(f"two converters for {name}", op=name)
        _converters[name] = function
        return function

    return register


@cache
def _load() -> dict[str, Converter]:
    for folder in FOLDERS:
        package = importlib.import_module(f"tvm.contrib.epu.chipy.{folder}")
        for module in sorted(entry.name for entry in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"{package.__name__}.{module}")
    return _converters


def names() -> list[str]:
    """Return the full names of all operators that have a converter."""
    return sorted(_load())


def _nearest(name: str, count: int = 3) -> list[str]:
    """Return ATen names near one: other overloads of the same operator first, then similar words, if any."""
    known: dict[str, list[str]] = {}
    for full in names():
        if full.startswith("aten."):
            known.setdefault(_word(full), []).append(full)
    words = difflib.get_close_matches(_word(name), known, n=count, cutoff=SIMILAR)
    return [full for word in words for full in known[word]][:count]


def _word(name: str) -> str:
    """Return the operator of a full name: "relu" of "aten.relu.default"."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else name


def find(name: str, layer: str, place: str = "") -> Converter:
    """Return the converter of an operator; an error with layer and place if there is none."""
    found = _load().get(name)
    if found is None:
        near = _nearest(name)
        raise OperatorError(
            "no converter",
            layer=layer,
            op=name,
            found=f"{name}{place}",
            wanted="a supported operator" + (f" (nearest: {', '.join(near)})" if near else ""),
            cure=f"replace the operator in the model by one of docs/operators.md, 'From PyTorch', or add a "
            f"converter with its full name to {SOURCES}",
        )
    return found
