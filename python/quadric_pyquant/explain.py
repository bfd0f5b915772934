# SPDX-License-Identifier: Apache-2.0
"""Which module stopped a forward, and what it was given: for errors that name the layer instead of torch's.

follow() keeps the calls in progress while it is open. misfit() makes the error of a layer whose operands
have another shape than its weights take.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from opencgc.errors import Error, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Running(NamedTuple):
    """One call in progress."""

    path: str
    module: nn.Module
    inputs: tuple[Any, ...]


@contextmanager
def follow(model: nn.Module) -> Iterator[list[Running]]:
    """Keep the calls in progress: where a forward stopped is the last entry."""
    running: list[Running] = []
    handles = []
    for path, module in model.named_modules():

        def enter(module: nn.Module, inputs: Any, path: str = path) -> None:
            running.append(Running(path, module, inputs))

        def leave(_module: nn.Module, _inputs: Any, _outputs: Any) -> None:
            running.pop()

        handles += [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]
    try:
        yield running
    finally:
        for handle in handles:
            handle.remove()


def reason(problem: BaseException) -> str:
    """Return the first line of what torch says."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(problem).__name__


def wanted_shape(module: nn.Module) -> str:
    """Return the operand shape that a layer's weights take, read from torch's attributes."""
    forms = {
        "in_features": "[..., {}]",
        "in_channels": "[N, {}, " + ", ".join("DHW"[-len(getattr(module, "kernel_size", "HW")) :]) + "]",
        "num_features": "[N, {}, ...]",
    }
    for name, form in forms.items():
        size = getattr(module, name, None)
        if isinstance(size, int):
            return f"{form.format(size)} ({name}={size})"
    return "shapes and element types that the layer takes"


def misfit(model: nn.Module, problem: Exception, *args: Any, **kwargs: Any) -> Error | None:
    """Return our error for one of torch's while the model ran on args; None if there is none.

    The batch is run once more: hooks during calibration itself could choose other kernels.
    """
    if isinstance(problem, Error | torch.OutOfMemoryError):
        return None
    with follow(model) as running:
        try:
            model(*args, **kwargs)
        except (RuntimeError, ValueError) as again:
            if running and not isinstance(again, Error):
                return _explained(running[-1], again)
    return None


def _explained(call: Running, problem: Exception) -> Error:
    shapes = [str(list(value.shape)) for value in call.inputs if isinstance(value, torch.Tensor)]
    return TensorTypeError(
        f"the model does not run on the calibration data: {reason(problem)}",
        layer=getattr(call.module, "layer_name", "") or call.path,
        op=type(call.module).__name__,
        setting="calibration data",
        found=f"shape {', '.join(shapes)}" if shapes else "no tensor",
        wanted=wanted_shape(call.module),
        cure="let the loader yield batches as forward() takes them (images are [N, C, H, W])",
    )
