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
    """Return supported names near one: other overloads of the same operator first, then similar words."""
    base = name.rsplit(".", 1)[0]
    same = [known for known in names() if known.rsplit(".", 1)[0] == base]
    words = difflib.get_close_matches(name, names(), n=count, cutoff=0.0)
    return list(dict.fromkeys([*same, *words]))[:count]


def find(name: str, layer: str, place: str = "") -> Converter:
    """Return the converter of an operator; an error with layer and place if there is none."""
    found = _load().get(name)
    if found is None:
        raise OperatorError(
            "no converter",
            layer=layer,
            op=name,
            found=f"{name}{place}",
            wanted=f"a supported operator (nearest: {', '.join(_nearest(name))})",
            cure="replace the operator in the model, or add a converter with its full name to chipy/aten/",
        )
    return found
