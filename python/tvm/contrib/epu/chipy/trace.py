# SPDX-License-Identifier: Apache-2.0
"""Runs torch.export on declared inputs and turns what goes wrong into errors that name the layer.

Output: a program in which in-place operators are functional, views are view.default and nothing else is
decomposed: quantized layers stay one custom operator each.
"""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from opencgc.errors import ArgumentError, Error, TensorTypeError
from quadric_pyquant.explain import follow, reason
from tvm.contrib.epu.chipy.tensor import Tensor

if TYPE_CHECKING:
    from torch.export import ExportedProgram

NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def order_declared(model: nn.Module, given: dict[str, Any]) -> dict[str, Tensor]:
    """Return the declared inputs in forward()'s order; parameters with defaults may be absent."""
    parameters = [p for p in inspect.signature(model.forward).parameters.values() if p.kind in NAMED]
    known = [parameter.name for parameter in parameters]
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in given]
    extra = [name for name in given if name not in known]
    if missing or extra:
        what = "a parameter of forward() is not declared" if missing else "forward() has no such parameter"
        raise ArgumentError(
            f"{what}: {', '.join(missing or extra)}",
            setting=(missing or extra)[0],
            found=", ".join(given) or "no inputs",
            wanted=f"forward({', '.join(known)})",
            cure=f"export(model, {', '.join(f'{name}=Tensor(shape=..., dtype=...)' for name in known)})",
        )
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise ArgumentError(
                f"input '{name}' is not declared as a Tensor",
                setting=name,
                found=type(value).__name__,
                wanted='Tensor(shape=(...), dtype="...")',
                cure=f'export(model, {name}=Tensor(shape=(1, 3, 224, 224), dtype="float32"))',
            )
    return {name: given[name] for name in known if name in given}


def trace(model: nn.Module, inputs: dict[str, Tensor]) -> ExportedProgram:
    """Return the traced program."""
    examples = {name: tensor.example() for name, tensor in inputs.items()}
    with follow(model) as running:
        try:
            with torch.no_grad():
                program = torch.export.export(model, (), examples, strict=False)
        except Error:
            raise
        except Exception as problem:
            raise _explain(problem, running[-1].path if running else "", inputs) from problem
    return program.run_decompositions({})


def _place(problem: BaseException) -> str:
    """Return " at file:line" of the innermost forward() of the user's that an error came through, or ""."""
    own = str(Path(torch.__file__).parent)
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [f for f in frames if f.name == "forward" and not f.filename.startswith(own)]
    return f" at {Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else ""


def _explain(problem: Exception, layer: str, inputs: dict[str, Tensor]) -> Error:
    """Return our error for one of torch's: the layer, the declared inputs, and torch's first line."""
    declared = ", ".join(f"{name}={tensor}" for name, tensor in inputs.items())
    if "data-dependent" in str(problem).lower():
        return ArgumentError(
            f"forward() decides by the values of a tensor, which has no place in a graph: {reason(problem)}",
            layer=layer,
            setting="forward",
            found=f"a Python branch or shape that depends on values{_place(problem)}",
            wanted="a forward() whose steps depend on shapes alone",
            cure="write the choice with torch.where, or move it out of the model",
        )
    return TensorTypeError(
        f"the model does not run on the declared {', '.join(inputs) or 'inputs'}: {reason(problem)}",
        layer=layer,
        setting=", ".join(inputs),
        found=declared or "no inputs",
        wanted="shapes and dtypes that forward() takes",
        cure="declare each input as the model is called: export(model, x=Tensor(shape=..., dtype=...))",
    )
