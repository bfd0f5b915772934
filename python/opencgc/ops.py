# SPDX-License-Identifier: Apache-2.0
"""Single operators: evaluated by the same C code as the interpreter's.

The PyTorch modules of quadric_pyquant call eval_op in their forward: their values are the contract's.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from opencgc._lib import encode, ffi, lib, text
from opencgc.handles import Context
from opencgc.tensors import Tensors, TensorType, empty_like_types, read_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_local = threading.local()


def _context() -> Context:
    """Return this thread's context: contexts serve one thread at a time."""
    context: Context | None = getattr(_local, "context", None)
    if context is None:
        context = _local.context = Context()
    return context


def op_names() -> list[str]:
    """Return the names of all operators as the text form has them."""
    return [text(lib.cgc_op_name(i)) for i in range(lib.cgc_op_count())]


def _infer(context: Context, op: bytes, attrs: bytes, tensors: Tensors, n_outputs: int) -> list[TensorType]:
    types = ffi.new("cgc_tensor[]", n_outputs)
    context.check(
        lib.cgc_op_infer(context.pointer, op, attrs, tensors.table, tensors.count, types, n_outputs)
    )
    return [read_type(kind) for kind in types]


def infer_op(
    op: str, attrs_text: str, inputs: Sequence[np.ndarray[Any, Any]], n_outputs: int = 1
) -> list[TensorType]:
    """Return the result types of an operator without evaluating it."""
    return _infer(_context(), encode(op), encode(attrs_text), Tensors(inputs), n_outputs)


def eval_op(
    op: str, attrs_text: str, inputs: Sequence[np.ndarray[Any, Any]], n_outputs: int = 1
) -> list[np.ndarray[Any, Any]]:
    """Evaluate one operator on arrays (not copied when they are in C order) and return its results.

    attrs_text is attribute text as printed ("padding=[1, 1, 1, 1], x_scale=0.5f"); a per-channel attribute
    names one of the inputs as input[i], and such inputs follow the operator's own operands.
    """
    context, name, attrs = _context(), encode(op), encode(attrs_text)
    tensors = Tensors(inputs)
    outputs = empty_like_types(_infer(context, name, attrs, tensors, n_outputs))
    results = Tensors(outputs)
    context.check(
        lib.cgc_op_eval(
            context.pointer, name, attrs, tensors.table, tensors.count, results.table, results.count
        )
    )
    return outputs
