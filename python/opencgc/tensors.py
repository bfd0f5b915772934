# SPDX-License-Identifier: Apache-2.0
"""numpy arrays as cgc_tensor and back, without copies, and the checks of named inputs.

A tensor table borrows the arrays' memory: the arrays must live as long as the table is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opencgc._lib import encode, ffi, lib, text
from opencgc.errors import ArgumentError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opencgc.handles import Context

MAX_RANK = 8


class TensorType(NamedTuple):
    """Shape and element type of a tensor."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        """Return the type as the graph's text form has it."""
        dims = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        return f"Tensor[({dims}), {self.dtype}]"


def dtype_names() -> tuple[str, ...]:
    """Return the names of all element types of the graph, in the order of cgc_dtype."""
    names: list[str] = []
    while (known := lib.cgc_dtype_name(len(names))) != ffi.NULL and text(known):
        names.append(text(known))
    return tuple(names)


@cache
def dtype_code(name: str) -> int:
    """Return the cgc_dtype of an element type's name, an error if there is none."""
    code: int = lib.cgc_dtype_from_name(encode(name))
    if code < 0:
        wanted = ", ".join(dtype_names())
        cure = "convert the array to one of these types"
        raise TensorTypeError("unknown element type", setting="dtype", found=name, wanted=wanted, cure=cure)
    return code


def fill_type(tensor: Any, kind: TensorType) -> None:
    """Write a type into a cgc_tensor."""
    if len(kind.shape) > MAX_RANK:
        raise TensorTypeError("too many dimensions", found=len(kind.shape), wanted=f"at most {MAX_RANK}")
    tensor.dtype = dtype_code(kind.dtype)
    tensor.rank = len(kind.shape)
    for axis, size in enumerate(kind.shape):
        tensor.dims[axis] = size


def read_type(tensor: Any) -> TensorType:
    """Return the type that a cgc_tensor describes."""
    return TensorType(tuple(tensor.dims[0 : tensor.rank]), text(lib.cgc_dtype_name(tensor.dtype)))


def named_types(context: Context, pointer: Any, entries: str) -> dict[str, TensorType]:
    """Return name and type of each entry; entries: what cgc_<...>_count, _name and _type begin with."""
    kind = ffi.new("cgc_tensor *")
    types = {}
    for i in range(getattr(lib, f"{entries}_count")(pointer)):
        context.check(getattr(lib, f"{entries}_type")(pointer, i, kind))
        types[text(getattr(lib, f"{entries}_name")(pointer, i))] = read_type(kind)
    return types


def _native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array as C reads it: row-major, in this machine's byte order; copied only if it is not."""
    return np.asarray(array, dtype=np.asarray(array).dtype.newbyteorder("="), order="C")


class Tensors:
    """A C table of cgc_tensor over numpy arrays; pass .table and .count to C."""

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        self.arrays = [_native(array) for array in arrays]
        self.count = len(self.arrays)
        self.table = ffi.new("cgc_tensor[]", max(self.count, 1))
        self._buffers = []
        for tensor, array in zip(self.table, self.arrays, strict=False):
            fill_type(tensor, TensorType(array.shape, array.dtype.name))
            # A read-only array is only ever an input: C does not write to inputs.
            buffer = ffi.from_buffer(array)
            self._buffers.append(buffer)
            tensor.data = ffi.cast("void *", buffer)
            tensor.bytes = array.nbytes


def empty_like_types(types: Sequence[TensorType]) -> list[np.ndarray[Any, Any]]:
    """Return new arrays of these types for C to write to."""
    return [np.empty(kind.shape, dtype=kind.dtype) for kind in types]


def order_inputs(given: Mapping[str, Any], wanted: Mapping[str, TensorType]) -> list[np.ndarray[Any, Any]]:
    """Return the arrays in the order of the wanted names; nothing is converted, everything is checked."""
    if not isinstance(given, Mapping):
        raise ArgumentError(
            "the inputs are not a dict",
            found=type(given).__name__,
            wanted=", ".join(wanted),
            cure=f"give run() one array per input name: {{'{next(iter(wanted), 'x')}': array}}",
        )
    missing = [name for name in wanted if name not in given]
    extra = [name for name in given if name not in wanted]
    if missing or extra:
        problem = "an input is missing" if missing else "there is no such input"
        raise ArgumentError(
            f"{problem}: {', '.join(map(str, missing or extra))}",
            setting=str((missing or extra)[0]),
            found=", ".join(map(str, given)) or "no inputs",
            wanted=", ".join(wanted),
            cure="give run() one array per input name",
        )
    return [_check_input(name, np.asarray(given[name]), kind) for name, kind in wanted.items()]


def _check_input(name: str, array: np.ndarray[Any, Any], kind: TensorType) -> np.ndarray[Any, Any]:
    found = TensorType(tuple(array.shape), array.dtype.name)
    if found != kind:
        what = "shape" if found.shape != kind.shape else "element type"
        cure = f"reshape '{name}'" if found.shape != kind.shape else f"use {name}.astype('{kind.dtype}')"
        raise TensorTypeError(
            f"input '{name}' has the wrong {what}", setting=name, found=found, wanted=kind, cure=cure
        )
    return array
