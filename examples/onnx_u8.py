# SPDX-License-Identifier: Apache-2.0
"""Writes a quantized model as ONNX in u8 QDQ form, the form ONNX Runtime is fastest with on x86.

Input: a model that is ready for export. Output: the same network with the same scales, activations as uint8
(zero point + 128), weights as int8. A measuring partner only: no number of ours comes from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from torch import fx, nn
from torch.export.graph_signature import InputKind

from tvm.contrib.epu.chipy.call import bind_arguments
from tvm.contrib.epu.chipy.trace import trace

if TYPE_CHECKING:
    from tvm.contrib.epu.chipy import Tensor

OPSET, IR_VERSION = 17, 8


class Writer:
    """State of one model: nodes, initializers and the name of each traced value."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.names: dict[fx.Node, str] = {}
        self.clamped: set[str] = set()  # values that are >= 0 already: their uint8 zero point is 0

    def constant(self, array: np.ndarray[Any, Any]) -> str:
        """Add an initializer."""
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], **attrs: Any) -> str:
        """Add a node of one result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name

    def qdq(self, value: str, arguments: dict[str, Any], prefix: str) -> str:
        """Quantize a value to uint8 and back."""
        scale = np.float32(arguments[f"{prefix}_scale"].item())
        zero_point = np.uint8(int(arguments[f"{prefix}_zero_point"]) + 128)
        parameters = [self.constant(np.array(scale)), self.constant(np.array(zero_point))]
        quantized = self.node("QuantizeLinear", [value, *parameters])
        result = self.node("DequantizeLinear", [quantized, *parameters])
        if zero_point == 0:
            self.clamped.add(result)
        return result

    def weights(self, arguments: dict[str, Any]) -> list[str]:
        """Return the dequantized weight and bias of a layer."""
        w_scale = arguments["w_scale"].numpy().astype(np.float32)
        scale = self.constant(w_scale)
        zero = self.constant(np.zeros(w_scale.shape, np.int8))
        weight = self.constant(arguments["weight_q"].numpy())
        names = [self.node("DequantizeLinear", [weight, scale, zero], axis=0)]
        if arguments["bias_q"] is not None:
            b_scale = np.float32(arguments["x_scale"].item()) * w_scale
            bias = self.constant(arguments["bias_q"].numpy())
            names.append(self.node("DequantizeLinear", [bias, self.constant(b_scale)], axis=0))
        return names


def _window(arguments: dict[str, Any]) -> dict[str, Any]:
    padding = list(arguments["padding"])
    pads = padding * 2 if len(padding) == 2 else padding or [0] * 4
    pads = pads * 4 if len(pads) == 1 else pads
    return {"strides": list(arguments["stride"]), "pads": pads}


def _conv(w: Writer, a: dict[str, Any]) -> str:
    operands = [w.qdq(a["x"], a, "x"), *w.weights(a)]
    result = w.node("Conv", operands, **_window(a), dilations=list(a["dilation"]), group=a["groups"])
    return w.qdq(result, a, "y")


def _linear(w: Writer, a: dict[str, Any]) -> str:
    return w.qdq(w.node("Gemm", [w.qdq(a["x"], a, "x"), *w.weights(a)], transB=1), a, "y")


def _add(w: Writer, a: dict[str, Any]) -> str:
    return w.qdq(w.node("Add", [w.qdq(a["a"], a, "a"), w.qdq(a["b"], a, "b")]), a, "y")


def _global_average(w: Writer, a: dict[str, Any]) -> str:
    return w.qdq(w.node("GlobalAveragePool", [w.qdq(a["x"], a, "x")]), a, "y")


def _relu(w: Writer, a: dict[str, Any]) -> str:
    return a["self"] if a["self"] in w.clamped else w.node("Relu", [a["self"]])


def _max_pool(w: Writer, a: dict[str, Any]) -> str:
    result = w.node("MaxPool", [a["self"]], kernel_shape=list(a["kernel_size"]), **_window(a))
    if a["self"] in w.clamped:
        w.clamped.add(result)
    return result


def _view(w: Writer, a: dict[str, Any]) -> str:
    return w.node("Reshape", [a["self"], w.constant(np.array(a["size"], np.int64))])


WRITERS = {
    "opencgc.qconv2d.default": _conv,
    "opencgc.qlinear.default": _linear,
    "opencgc.qadd.default": _add,
    "opencgc.qavg_pool2d.default": _global_average,
    "aten.relu.default": _relu,
    "aten.max_pool2d.default": _max_pool,
    "aten.view.default": _view,
}


def to_onnx(model: nn.Module, **inputs: Tensor) -> bytes:
    """Return the serialized model; an operator without a writer is a KeyError with its name."""
    program = trace(model, inputs)
    w = Writer()
    values: dict[fx.Node, Any] = {}
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            spec = specs[node.name]
            stored = spec.kind != InputKind.USER_INPUT
            values[node] = program.state_dict[spec.target].detach() if stored else node.name
        elif node.op == "call_function":
            arguments = {
                name: values[value] if isinstance(value, fx.Node) else value
                for name, value in bind_arguments(node).items()
            }
            values[node] = WRITERS[str(node.target)](w, arguments)
    output = next(node for node in program.graph.nodes if node.op == "output").args[0]
    described = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, list(tensor.shape))
        for name, tensor in inputs.items()
    ]
    results = [helper.make_tensor_value_info(values[node], TensorProto.FLOAT, None) for node in output]
    graph = helper.make_graph(w.nodes, "main", described, results, w.initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    serialized: bytes = made.SerializeToString()
    return serialized
