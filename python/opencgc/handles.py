# SPDX-License-Identifier: Apache-2.0
"""Handles: Python owners of the C objects, freed once and in the right order.

A handle frees its C object when it is closed, when `with` ends or when it is collected. It keeps its parent
alive (a graph its context), and closing a parent closes its children first.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from opencgc._lib import encode, ffi, lib, text
from opencgc.errors import BY_ID, ArgumentError, Error, OutOfMemoryError, Place

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self


def _free(free: Callable[[Any], None], pointer: Any, parent: Handle | None) -> None:
    del parent  # held until here, so that it outlives the child
    free(pointer)


class Handle:
    """Owner of one C object."""

    def __init__(self, pointer: Any, free: Callable[[Any], None], parent: Handle | None = None) -> None:
        self._pointer = pointer
        self._children: weakref.WeakValueDictionary[int, Handle] = weakref.WeakValueDictionary()
        self._finalizer = weakref.finalize(self, _free, free, pointer, parent)
        if parent is not None:
            parent._children[id(self)] = self  # noqa: SLF001 - same class

    @property
    def pointer(self) -> Any:
        """The C pointer; an error after close()."""
        if not self._finalizer.alive:
            raise ArgumentError(f"this {type(self).__name__} is closed", cure="use it before close()")
        return self._pointer

    def close(self) -> None:
        """Free the C object now; a second call does nothing."""
        for child in list(self._children.values()):
            child.close()
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Context(Handle):
    """A cgc_ctx: diagnostics and options of what is made from it. One thread at a time."""

    def __init__(self) -> None:
        pointer = lib.cgc_ctx_new()
        if pointer == ffi.NULL:
            raise OutOfMemoryError("out of memory while a context was made")
        super().__init__(pointer, lib.cgc_ctx_free)

    def check(self, status: int) -> None:
        """Raise the recorded failure of a call that did not return 0."""
        if status == 0:
            return
        record = ffi.new("cgc_error *")
        lib.cgc_ctx_error(self.pointer, record)
        names = ("layer", "op", "setting", "found", "wanted", "cure")
        place = Place(**{name: text(getattr(record, name)) for name in names})
        error_id = text(record.id)
        message = text(record.message) or f"error[{status}]: the C library gave no message"
        error = BY_ID.get(error_id, Error).from_text(message, place, error_id)
        lib.cgc_ctx_clear(self.pointer)
        raise error

    def need(self, pointer: Any) -> Any:
        """Return a new object's pointer, or raise the recorded failure for NULL."""
        if pointer == ffi.NULL:
            record = ffi.new("cgc_error *")
            lib.cgc_ctx_error(self.pointer, record)
            self.check(record.code)
            raise OutOfMemoryError("out of memory while an object was made")
        return pointer

    def set_option(self, name: str, value: str) -> None:
        """Set an option of cgc_ctx_set_option."""
        self.check(lib.cgc_ctx_set_option(self.pointer, encode(name), encode(value)))

    def notes(self) -> list[str]:
        """Return what the compiler did that the user should know, in order."""
        count = lib.cgc_ctx_note_count(self.pointer)
        return [text(lib.cgc_ctx_note_get(self.pointer, i)) for i in range(count)]
