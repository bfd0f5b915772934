# SPDX-License-Identifier: Apache-2.0
"""export(): gate, trace, convert. ONNX is nowhere on this path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from opencgc.errors import ArgumentError
from tvm.contrib.epu.chipy import options
from tvm.contrib.epu.chipy.convert import Conversion
from tvm.contrib.epu.chipy.trace import order_declared, trace

if TYPE_CHECKING:
    from opencgc import Graph


def export(model: nn.Module, /, **inputs: Any) -> Graph:
    """Return the graph of a quantized model.

    inputs declare the parameters of forward() by name: export(model, x=Tensor(shape=..., dtype=...)); those
    with default values may be omitted. Stops at the first layer whose settings it cannot consume and names
    the setting. Options are set by `with chipy.options(...)`.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(
            "export() takes a PyTorch model",
            setting="model",
            found=type(model).__name__,
            wanted="torch.nn.Module",
        )
    from quadric_pyquant.model_conversion import validate_model_export_ready

    declared = order_declared(model, inputs)
    validate_model_export_ready(model)
    return Conversion(trace(model, declared), strict=options.current().strict).run(declared)
