# SPDX-License-Identifier: Apache-2.0
"""Call: one operator call of the traced model, as its converter sees it.

Arguments are read by the names of the operator's schema. Buffers and parameters are constants; activations
are values of the graph that is being built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import fx

from opencgc.attrs import Reference, format_attrs
from opencgc.builder import Value
from opencgc.errors import OperatorError, QuantizationError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tvm.contrib.epu.chipy.convert import Conversion


class Quantization(NamedTuple):
    """Scale and zero point of an activation."""

    scale: np.float32
    zero_point: int


class Call:
    """One call: its arguments by name, its place in the model, and what a converter may emit."""

    def __init__(self, conversion: Conversion, node: fx.Node) -> None:
        self.conversion = conversion
        self.fx = node
        self.op = str(node.target)
        self.layer = layer_path(node)
        self.arguments = bind_arguments(node)

    # ---- reading ----
    def value(self, name: str) -> Any:
        """Return an argument: a Python value, a torch tensor for a constant, a Value for an activation."""
        return self.conversion.resolve(self.arguments[name])

    def constant(self, name: str) -> torch.Tensor:
        """Return a tensor argument that must be a parameter or buffer."""
        value = self.value(name)
        if not isinstance(value, torch.Tensor):
            raise OperatorError(
                f"{name}: an argument must be a parameter or buffer of the model",
                layer=self.layer,
                op=self.op,
                setting=name,
                found="a computed value" if isinstance(value, Value) else repr(value),
                wanted="a constant tensor",
            )
        return value

    def tensor(self, name: str) -> Value:
        """Return a tensor argument as a value of the graph; a constant is added once."""
        value = self.value(name)
        if isinstance(value, torch.Tensor):
            return self.conversion.constant(value)
        if isinstance(value, Value):
            return value
        raise OperatorError(
            f"{name}: an argument must be a tensor",
            layer=self.layer,
            op=self.op,
            setting=name,
            found=f"{value!r}{source_place(self.fx)}",
            wanted="a tensor",
            cure="make it a buffer of the model: self.register_buffer(name, torch.tensor(...))",
        )

    def operand(self, name: str) -> Value:
        """Return a tensor argument, or a Python number as the float32 scalar that torch computes with."""
        value = self.value(name)
        if isinstance(value, bool | int | float):
            return self.conversion.constant(torch.tensor(value, dtype=torch.float32))
        return self.tensor(name)

    def optional(self, name: str) -> list[Value]:
        """Return [value], or [] for None: ready to be appended to the operands."""
        return [] if self.value(name) is None else [self.tensor(name)]

    def number(self, name: str) -> float | int:
        """Return the one number of a constant tensor, or a Python number."""
        value = self.value(name)
        if isinstance(value, bool | int | float):
            return value
        tensor = self.constant(name)
        if tensor.numel() != 1:
            raise TensorTypeError(
                f"{name}: a setting must be one number",
                layer=self.layer,
                op=self.op,
                setting=name,
                found=f"{tensor.numel()} values",
                wanted="1 value",
            )
        number: float | int = tensor.item()
        return number

    def quantization(self, prefix: str) -> Quantization:
        """Return <prefix>_scale and <prefix>_zero_point."""
        scale = np.float32(self.number(f"{prefix}_scale"))
        zero_point = int(self.number(f"{prefix}_zero_point"))
        if not (np.isfinite(scale) and scale > 0):
            raise QuantizationError(
                f"{prefix}_scale: a scale is unusable",
                layer=self.layer,
                op=self.op,
                setting=f"{prefix}_scale",
                found=scale,
                wanted="a finite number above 0",
                cure="run_calibration(model, loader) on representative data",
            )
        return Quantization(scale, zero_point)

    def scale_attr(self, name: str) -> np.float32 | Reference:
        """Return a scale as an attribute's value: a number, or the name of a constant, one per channel."""
        tensor = self.constant(name)
        if tensor.numel() == 1:
            scale: np.float32 = np.float32(tensor.item())
            return scale
        return self.conversion.constant(tensor).reference

    @property
    def shape(self) -> list[int]:
        """Shape of the result."""
        return [int(size) for size in self.fx.meta["val"].shape]

    # ---- emitting ----
    def node(self, op: str, inputs: Sequence[Value], **attrs: Any) -> Value:
        """Add a node that carries this call's layer path."""
        return self.conversion.builder.node(op, inputs, format_attrs(attrs), self.layer)

    def quantize(self, value: Value, quantization: Quantization) -> Value:
        """Return value as int8; one node serves all calls that ask for the same."""
        return self.conversion.quantize(value, quantization, self.layer)

    def dequantize(self, value: Value, quantization: Quantization) -> Value:
        """Return an int8 value as float32."""
        attrs = format_attrs({}, tuple(quantization))
        return self.conversion.builder.node("qnn.dequantize", [value], attrs, self.layer)


def bind_arguments(node: fx.Node) -> dict[str, Any]:
    """Return {schema name: argument} with the defaults filled in."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:  # operator.getitem and other Python functions have no schema
        return {str(i): value for i, value in enumerate(node.args)}
    arguments = {}
    for i, parameter in enumerate(schema.arguments):
        if i < len(node.args):
            arguments[parameter.name] = node.args[i]
        else:
            arguments[parameter.name] = node.kwargs.get(parameter.name, parameter.default_value)
    return arguments


def source_place(node: fx.Node) -> str:
    """Return " in Softplus at file:line": torch's layer class and the user's line that a node comes from.

    Either part is left out where there is none.
    """
    own = str(Path(torch.__file__).parent)
    frames = re.findall(r'File "([^"]+)", line (\d+), in forward', str(node.meta.get("stack_trace") or ""))
    # A rewritten forward has a name in angle brackets; torch's own layers are no place of the user's.
    lines = [frame for frame in frames if not frame[0].startswith((own, "<"))]
    stack = node.meta.get("nn_module_stack") or {}
    owner = str(next(reversed(stack.values()))[1]) if stack else ""
    layer = f" in {owner.rpartition('.')[2]}" if owner.startswith("torch.nn.") else ""
    return layer + (f" at {Path(lines[-1][0]).name}:{lines[-1][1]}" if lines else "")


def owner_name(node: fx.Node) -> str:
    """Return the layer path for an error: for what the model's own forward() does, the model's class."""
    stack = node.meta.get("nn_module_stack") or {}
    return layer_path(node) or (str(next(iter(stack.values()))[1]).rpartition(".")[2] if stack else "")


def layer_path(node: fx.Node) -> str:
    """Return the module path of the layer that a traced node belongs to; "" for the model itself."""
    stack = node.meta.get("nn_module_stack") or {}
    path = str(next(reversed(stack.values()))[0]) if stack else ""
    return path.removeprefix("L['self'].").removeprefix("L['self']")
