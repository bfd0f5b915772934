# SPDX-License-Identifier: Apache-2.0
"""Attributes that hold for the builds inside a `with add_epu_passcontext_attributes(...)`."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from opencgc.errors import ArgumentError
from opencgc.program import DEFAULT_BUILD_PATH

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_build_path: ContextVar[str] = ContextVar("build_path", default="")


@contextmanager
def add_epu_passcontext_attributes(build_path: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Set attributes of the builds inside; build_path is where module folders are written (ccl_build)."""
    path = "" if build_path is None else str(build_path)
    if path and Path(path).is_file():
        raise ArgumentError(
            "the build path is a file",
            setting="build_path",
            found=path,
            wanted="a folder, which may not exist yet",
        )
    token = _build_path.set(path or _build_path.get())
    try:
        yield
    finally:
        _build_path.reset(token)


def active_build_path() -> str:
    """Return the build path that a `with` around the caller has set, or ""."""
    return _build_path.get()


def build_path_or_default() -> str:
    """Return the build path that holds here."""
    return _build_path.get() or DEFAULT_BUILD_PATH
