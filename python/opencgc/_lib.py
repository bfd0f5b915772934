# SPDX-License-Identifier: Apache-2.0
"""The compiled binding: ffi and lib of opencgc._cgc, and nothing else.

Every other module of the package takes them from here, so that a missing build is explained in one place.
"""

from __future__ import annotations

from typing import Any

try:
    from opencgc._cgc import ffi as _ffi
    from opencgc._cgc import lib as _lib
except ImportError as problem:
    raise ImportError(
        f"opencgc: the compiled module opencgc._cgc cannot be loaded ({problem}); "
        "run `pip install .` (or `pip install -e .`) in the checkout, with a C compiler"
    ) from problem

ffi: Any = _ffi
lib: Any = _lib


def text(pointer: Any) -> str:
    """Return a C string as str; "" for NULL."""
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def encode(value: str) -> bytes:
    """Return the bytes of a str for C."""
    return value.encode("utf-8")


version: str = text(lib.cgc_version())
