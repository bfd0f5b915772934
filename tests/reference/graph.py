# SPDX-License-Identifier: Apache-2.0
"""Reads the printed form of a lowered graph and evaluates every node with the references of this package.

A reader of its own, so that neither parser nor interpreter of the product is believed. Lowered means that the
passes have closed the float islands: what a node means then is what its operator means.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import evaluate
from .attrs import parse_attrs

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Mapping

    from .common import Array

POSITIONAL = {"qnn.quantize": ("scale", "zero_point"), "qnn.dequantize": ("scale", "zero_point")}
KEYWORD_OPERANDS = ("bias",)
DTYPES = {"I8": "i1", "U8": "u1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "F32": "<f4", "BOOL": "?"}
_NODE = re.compile(r"(?:(%\d+) = )?([a-z_][\w.]*)\((.*)\)", re.DOTALL)
_OPERAND = re.compile(r"(?:(\w+)=)?(%[\w.]+|meta\[relay\.Constant\]\[(\d+)\])")


@dataclass(frozen=True)
class Node:
    """One line of the text."""

    value: str  # "%3"
    op: str
    operands: list[str]  # "%0", "meta[relay.Constant][1]"
    attrs: str
    layer: str


def read_constants(path: pathlib.Path) -> list[Array]:
    """constant_0, constant_1, ... of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, start = json.loads(data[8 : 8 + size]), 8 + size
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return [arrays[f"constant_{i}"] for i in range(len(arrays))]


def _arguments(text: str) -> Iterator[str]:
    """Pieces between top-level commas."""
    depth, quoted, piece = 0, False, ""
    for c in text:
        quoted ^= c == '"'
        depth += (c in "[(") - (c in "])") if not quoted else 0
        if c == "," and depth == 0 and not quoted:
            yield piece.strip()
            piece = ""
        else:
            piece += c
    if piece.strip():
        yield piece.strip()


def _read_node(text: str, number: int) -> Node | None:
    found = _NODE.fullmatch(" ".join(text.split()))
    if not found:
        return None
    operands, attrs, layer = [], [], ""
    for argument in _arguments(found[3]):
        operand = _OPERAND.fullmatch(argument)
        if operand and (operand[1] is None or operand[1] in KEYWORD_OPERANDS):
            operands.append(operand[2])
        elif argument.startswith("layer="):
            layer = argument[7:-1]
        else:
            attrs.append(argument)
    return Node(found[1] or f"%{number}", found[2], operands, ", ".join(attrs), layer)


def read_nodes(text: str) -> list[Node]:
    """Nodes of the function in order; a last line that is no node names the outputs."""
    body = text[text.index(") {") + 3 : text.rindex("}")]
    nodes: list[Node] = []
    for statement in body.split(";"):
        if node := _read_node(statement, len(nodes)):
            nodes.append(node)
    return nodes


def evaluate_graph(text: str, constants: list[Array], inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Value of every node by its name in the text ("%3")."""
    values = {f"%{name}": array for name, array in inputs.items()}

    def tensor(_: str, i: int) -> Array:
        return constants[i]

    def operand(name: str) -> Array:
        return values[name] if name.startswith("%") else constants[int(name.rsplit("[", 1)[1][:-1])]

    for node in read_nodes(text):
        attrs: dict[str, Any] = parse_attrs(node.attrs, tensor, POSITIONAL.get(node.op, ()))
        values[node.value] = evaluate(node.op, [operand(name) for name in node.operands], attrs)[0]
    return values
