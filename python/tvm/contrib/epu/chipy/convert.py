# SPDX-License-Identifier: Apache-2.0
"""Walks a traced model and builds the graph: one converter call per operator.

Input: torch.export's program, functional and without decompositions. Output: a Graph whose inputs are the
declared ones and whose outputs are the flattened results. torch evaluates operators on constants alone.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch.export.graph_signature import InputKind, OutputKind

from opencgc import Graph, GraphBuilder
from opencgc.attrs import format_attrs
from opencgc.builder import Value
from opencgc.errors import OperatorError
from tvm.contrib.epu.chipy import registry
from tvm.contrib.epu.chipy.call import Call, Quantization, bind_arguments, owner_name, source_place

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from tvm.contrib.epu.chipy.tensor import Tensor


class Conversion:
    """State of one export: what each traced node has become."""

    def __init__(self, program: ExportedProgram, *, strict: bool) -> None:
        self.program = program
        self.builder = GraphBuilder(strict=strict)
        self._values: dict[fx.Node, Any] = {}
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._quantized: dict[tuple[int, Quantization], Value] = {}

    def run(self, inputs: dict[str, Tensor]) -> Graph:
        """Convert everything; inputs are the declared ones in forward()'s order."""
        self._bind_placeholders(inputs)
        for node in self.program.graph.nodes:
            if node.op == "call_function":
                self._values[node] = self._convert(node)
        return self.builder.finish(self._outputs())

    def resolve(self, argument: Any) -> Any:
        """Return what an fx argument has become; lists are resolved item by item."""
        if isinstance(argument, fx.Node):
            return self._values[argument]
        if isinstance(argument, list | tuple):
            return [self.resolve(item) for item in argument]
        return argument

    def constant(self, tensor: torch.Tensor) -> Value:
        """Return a graph constant; tensors with the same type and bytes share one."""
        array = tensor.detach().cpu().contiguous().numpy()
        key = (array.dtype.name, array.shape, hashlib.sha256(array.data).digest())
        if key not in self._constants:
            self._constants[key] = self.builder.constant(array)
        return self._constants[key]

    def quantize(self, value: Value, quantization: Quantization, layer: str) -> Value:
        """Return value as int8; made once per value and quantization."""
        key = (value.handle, quantization)
        if key not in self._quantized:
            attrs = format_attrs({"out_dtype": "int8"}, tuple(quantization))
            self._quantized[key] = self.builder.node("qnn.quantize", [value], attrs, layer)
        return self._quantized[key]

    def read_constant(self, argument: Any) -> torch.Tensor | None:
        """Return the tensor of an fx argument if it is a parameter or buffer, else None."""
        value = self._values.get(argument) if isinstance(argument, fx.Node) else argument
        return value if isinstance(value, torch.Tensor) else None

    def _bind_placeholders(self, inputs: dict[str, Tensor]) -> None:
        program = self.program
        nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
        declared = iter(inputs.items())
        for spec in program.graph_signature.input_specs:
            node = nodes[spec.arg.name]
            if spec.kind in {InputKind.PARAMETER, InputKind.BUFFER} and spec.target in program.state_dict:
                self._values[node] = program.state_dict[spec.target]
            elif spec.kind in {InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR}:
                self._values[node] = program.constants[
                    spec.target
                ]  # constants hold non-persistent buffers too
            elif spec.kind == InputKind.USER_INPUT and node.meta.get("val") is not None:
                name, tensor = next(declared)
                self._values[node] = self.builder.input(name, tensor.shape, tensor.dtype)
            else:
                raise OperatorError(
                    f"an input of kind {spec.kind.name} is not supported", setting=spec.arg.name
                )

    def _convert(self, node: fx.Node) -> Any:
        arguments = [self.resolve(value) for value in bind_arguments(node).values()]
        if not _any_value(arguments):
            return node.target(
                *self.resolve(node.args), **{k: self.resolve(v) for k, v in node.kwargs.items()}
            )
        name = str(node.target)
        place = source_place(node) + ("" if name in registry.names() else self._others(node))
        return registry.find(name, owner_name(node), place)(Call(self, node))

    def _others(self, node: fx.Node) -> str:
        """Return what else has no converter behind a node that has none, so that one error names all."""
        computed = {known for known, value in self._values.items() if isinstance(value, Value)} | {node}
        missing: dict[str, str] = {str(node.target): ""}
        while (node := node.next).op != "output":
            if node.op == "call_function" and not computed.isdisjoint(node.all_input_nodes):
                computed.add(node)
                if str(node.target) not in registry.names():
                    missing.setdefault(str(node.target), f"; also {node.target}{source_place(node)}")
        return "".join(missing.values())

    def _outputs(self) -> list[Value]:
        output = next(node for node in self.program.graph.nodes if node.op == "output")
        values = []
        for spec, argument in zip(self.program.graph_signature.output_specs, output.args[0], strict=True):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                raise OperatorError(
                    "forward() changes a buffer of the model",
                    layer=str(spec.target).rpartition(".")[0],
                    setting=str(spec.target),
                    wanted="a forward() without state",
                    cure="call model.eval(), and return the state as an output",
                )
            if spec.kind == OutputKind.USER_OUTPUT:
                values.append(self._output(argument))
        return values

    def _output(self, argument: Any) -> Value:
        value = self.resolve(argument)
        if isinstance(value, torch.Tensor):
            return self.constant(value)
        if isinstance(value, Value):
            return value
        raise OperatorError(
            "an output of the model is not a tensor", found=repr(value), wanted="tensors, nested as you like"
        )


def _any_value(arguments: list[Any]) -> bool:
    return any(_any_value(item) if isinstance(item, list) else isinstance(item, Value) for item in arguments)
