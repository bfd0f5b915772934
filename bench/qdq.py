# SPDX-License-Identifier: Apache-2.0
"""A lowered int8 graph as ONNX in u8 QDQ form: the same weights, scales and zero points for other runtimes.

Input: a Graph. Output: the bytes of an ONNX model whose activations are uint8 (int8 shifted by 128, exact).
Every int8 operator is written the way runtimes recognise it: a DequantizeLinear of its own for each operand,
the float operator, Relu where the clamp says so, QuantizeLinear. Only operators of plain CNNs; any other is a
KeyError.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from opencgc._lib import encode, lib

if TYPE_CHECKING:
    from opencgc import Graph

OPSET, IR_VERSION = 17, 8
Array = np.ndarray[Any, Any]


@dataclass
class Node:
    """One line of the text form."""

    result: str
    op: str
    operands: list[str]
    positional: list[float]
    attrs: dict[str, Any]


@dataclass
class Value:
    """A value of the ONNX graph: uint8 with scale and zero point, or float32 when scale is None."""

    name: str
    scale: Any = None
    zero_point: int = 0


def read_constants(path: Path) -> list[Array]:
    """Return meta[relay.Constant][i] of a saved graph."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    kinds = {"F32": np.float32, "I8": np.int8, "I32": np.int32}
    found = {}
    for name, entry in header.items():
        if name.startswith("constant_"):
            begin, end = (start + offset for offset in entry["data_offsets"])
            data = np.frombuffer(raw[begin:end], kinds[entry["dtype"]])
            found[int(name.removeprefix("constant_"))] = data.reshape(entry["shape"])
    return [found[i] for i in range(len(found))]


def split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def read_value(text: str) -> Any:
    """Return an attribute: a number, a list, a boolean, a string, or "meta..." of a constant."""
    if text in ("True", "False"):
        return text == "True"
    if text.startswith("["):
        return [int(part) for part in split(text[1:-1])]
    if text.startswith(("meta", "%", '"')):
        return text.strip('"')
    return float(text[:-1]) if text.endswith("f") else int(text)


def read_nodes(text: str) -> list[Node]:
    """Return the nodes of a printed graph; the last one has no name in the text."""
    body = re.sub(r"\n {6,}", " ", text.split("{\n", 1)[1])
    nodes = []
    for line in body.splitlines():
        found = re.fullmatch(r"  (?:(%\w+) = )?([\w.]+)\((.*)\);?", line)
        if not found:
            continue
        node = Node(found[1] or "%result", found[2], [], [], {})
        for part in split(found[3]):
            name, _, value = part.partition("=")
            if re.fullmatch(r"\w+=.*", part):
                node.attrs[name] = read_value(value)
            elif part.startswith(("%", "meta")):
                node.operands.append(part)
            else:
                node.positional.append(read_value(part))
        nodes.append(node)
    return nodes


class Writer:
    """The ONNX graph while it grows."""

    def __init__(self, constants: list[Array]) -> None:
        self.constants = constants
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.values: dict[str, Value] = {}

    def constant(self, array: Array) -> str:
        """Add an initializer."""
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], **attrs: Any) -> str:
        """Add a node of one result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name

    def tensor(self, text: Any) -> Array:
        """Return a constant by its text, or a scalar attribute as an array."""
        index = re.fullmatch(r"meta\[relay.Constant\]\[(\d+)\]", str(text))
        return self.constants[int(index[1])] if index else np.array(text, np.float32)

    def dequantize(self, operand: str) -> str:
        """Return float32 of a value, through a DequantizeLinear of its own."""
        value = self.values[operand]
        parameters = [np.array(value.scale, np.float32), np.array(value.zero_point + 128, np.uint8)]
        return self.node("DequantizeLinear", [value.name, *map(self.constant, parameters)])

    def quantize(self, name: str, node: Node, scale: float, zero_point: int) -> None:
        """Store a float32 result as uint8."""
        low = node.attrs.get("clamp_min", -128)
        if node.attrs.get("clamp_max", 127) != 127 or low not in (-128, zero_point):
            msg = f"{node.op}: only the clamp of relu has a QDQ form"
            raise ValueError(msg)
        if low == zero_point and zero_point != -128:
            name = self.node("Relu", [name])
        parameters = [np.array(scale, np.float32), np.array(zero_point + 128, np.uint8)]
        quantized = self.node("QuantizeLinear", [name, *map(self.constant, parameters)])
        self.values[node.result] = Value(quantized, scale, zero_point)

    def weights(self, node: Node) -> list[str]:
        """Return dequantized weight and bias."""
        a = node.attrs
        scale = self.tensor(a["w_scale"])
        axis = {"axis": 0} if scale.ndim else {}
        zero = np.zeros(scale.shape, np.int8)
        weight = self.tensor(node.operands[1])
        names = [
            self.node(
                "DequantizeLinear", [self.constant(weight), self.constant(scale), self.constant(zero)], **axis
            )
        ]
        bias = a.get("bias") or (node.operands[2] if len(node.operands) > 2 else None)
        if bias:
            bias_scale = np.float32(a["x_scale"]) * scale
            operands = [self.constant(self.tensor(bias)), self.constant(bias_scale.astype(np.float32))]
            names.append(self.node("DequantizeLinear", operands, **axis))
        return names


def window(attrs: dict[str, Any]) -> dict[str, Any]:
    """Return ONNX's attributes of a window."""
    return {"strides": attrs.get("strides", [1, 1]), "pads": attrs.get("padding", [0, 0, 0, 0])}


def put_quantize(w: Writer, node: Node) -> None:
    w.quantize(w.values[node.operands[0]].name, node, node.positional[0], int(node.positional[1]))


def put_dequantize(w: Writer, node: Node) -> None:
    w.values[node.result] = Value(w.dequantize(node.operands[0]))


def put_conv(w: Writer, node: Node) -> None:
    a = node.attrs
    operands = [w.dequantize(node.operands[0]), *w.weights(node)]
    extra = {"dilations": a.get("dilation", [1, 1]), "group": a.get("groups", 1)}
    w.quantize(w.node("Conv", operands, **window(a), **extra), node, a["y_scale"], a["y_zero_point"])


def put_dense(w: Writer, node: Node) -> None:
    operands = [w.dequantize(node.operands[0]), *w.weights(node)]
    w.quantize(w.node("Gemm", operands, transB=1), node, node.attrs["y_scale"], node.attrs["y_zero_point"])


def put_add(w: Writer, node: Node) -> None:
    operands = [w.dequantize(operand) for operand in node.operands]
    w.quantize(w.node("Add", operands), node, node.attrs["y_scale"], node.attrs["y_zero_point"])


def put_max_pool(w: Writer, node: Node) -> None:
    x = w.values[node.operands[0]]
    pooled = w.node("MaxPool", [x.name], kernel_shape=node.attrs["pool_size"], **window(node.attrs))
    w.values[node.result] = Value(pooled, x.scale, x.zero_point)


def put_average(w: Writer, node: Node) -> None:
    pooled = w.node("GlobalAveragePool", [w.dequantize(node.operands[0])])
    w.quantize(pooled, node, node.attrs["y_scale"], node.attrs["y_zero_point"])


def put_reshape(w: Writer, node: Node) -> None:
    x = w.values[node.operands[0]]
    shape = w.constant(np.array(node.attrs["newshape"], np.int64))
    w.values[node.result] = Value(w.node("Reshape", [x.name, shape]), x.scale, x.zero_point)


WRITERS = {
    "qnn.quantize": put_quantize,
    "qnn.dequantize": put_dequantize,
    "contrib.epu.qlinear_conv2d": put_conv,
    "contrib.epu.dense": put_dense,
    "qnn.add": put_add,
    "nn.max_pool2d": put_max_pool,
    "qnn.avg_pool2d": put_average,
    "reshape": put_reshape,
}


def to_onnx(graph: Graph) -> bytes:
    """Return the serialized model. The graph is lowered here, on a copy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.cgc"
        graph.save(path)
        lowered = type(graph).load(path)
        lowered.context.check(lib.cgc_graph_run_passes(lowered.pointer, encode("")))
        lowered.save(path)
        w = Writer(read_constants(path.with_suffix(".safetensors")))
    inputs = []
    for name, kind in graph.inputs.items():
        w.values[f"%{name}"] = Value(name)
        inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(kind.shape)))
    nodes = read_nodes(str(lowered))
    for node in nodes:
        WRITERS[node.op](w, node)
    result = w.values[nodes[-1].result].name
    kind = next(iter(graph.outputs.values()))
    output = helper.make_tensor_value_info(result, TensorProto.FLOAT, list(kind.shape))
    made = helper.make_graph(w.nodes, "main", inputs, [output], w.initializers)
    opset = [helper.make_opsetid("", OPSET)]
    serialized: bytes = helper.make_model(
        made, opset_imports=opset, ir_version=IR_VERSION
    ).SerializeToString()
    return serialized
