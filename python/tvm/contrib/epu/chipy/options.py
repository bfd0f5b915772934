# SPDX-License-Identifier: Apache-2.0
"""Options of export(): a context, because export's keywords are the names of forward() parameters."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Options:
    """strict: what would be a note of the compiler (a float layer, the scalar core) is an error."""

    strict: bool = False


_current: ContextVar[Options] = ContextVar("options", default=Options())  # noqa: B039 - frozen


@contextmanager
def options(*, strict: bool = False) -> Iterator[None]:
    """Set options for the exports inside: with chipy.options(strict=True): ..."""
    token = _current.set(Options(strict=strict))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Options:
    """Return the options that hold here."""
    return _current.get()
