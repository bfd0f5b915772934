# SPDX-License-Identifier: Apache-2.0
"""GraphBuilder: makes a Graph node by node; C checks each node and infers its types at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opencgc._lib import encode, ffi, lib
from opencgc.attrs import Reference, format_attrs
from opencgc.graph import Graph
from opencgc.handles import Context
from opencgc.tensors import Tensors, TensorType, dtype_code, read_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np


@dataclass(frozen=True)
class Value:
    """A value of a graph being built; index is the i of meta[relay.Constant][i] for a constant, else -1."""

    handle: int
    type: TensorType
    index: int = -1

    @property
    def reference(self) -> Reference:
        """The text by which an attribute names this constant."""
        return Reference(f"meta[relay.Constant][{self.index}]")


class GraphBuilder:
    """Builds one graph: input, constant, node, then finish(outputs)."""

    def __init__(self, *, strict: bool = False) -> None:
        self.context = Context()
        if strict:
            self.context.set_option("strict", "1")
        pointer = self.context.need(lib.cgc_graph_new(self.context.pointer))
        self.graph = Graph(self.context, pointer)

    def input(self, name: str, shape: Sequence[int], dtype: str = "float32") -> Value:
        """Add a graph input."""
        out = ffi.new("cgc_value *")
        dims = ffi.new("int64_t[8]", list(shape))
        self.context.check(
            lib.cgc_graph_add_input(
                self.graph.pointer, encode(name), dtype_code(dtype), len(shape), dims, out
            )
        )
        return Value(out[0], TensorType(tuple(shape), dtype))

    def constant(self, array: np.ndarray[Any, Any]) -> Value:
        """Add a constant; its data is copied."""
        tensors = Tensors([array])
        out, index = ffi.new("cgc_value *"), ffi.new("int32_t *")
        self.context.check(lib.cgc_graph_add_constant(self.graph.pointer, tensors.table, out, index))
        return Value(out[0], TensorType(tensors.arrays[0].shape, array.dtype.name), index[0])

    def node(
        self,
        op: str,
        inputs: Sequence[Value],
        attrs: str | Mapping[str, Any] = "",
        layer: str = "",
    ) -> Value:
        """Add a node of one result; attrs is attribute text or {name: value}."""
        attrs = attrs if isinstance(attrs, str) else format_attrs(attrs)
        handles = ffi.new("cgc_value[]", [value.handle for value in inputs])
        out = ffi.new("cgc_value *")
        self.context.check(
            lib.cgc_graph_add_node(
                self.graph.pointer, encode(op), handles, len(inputs), encode(attrs), encode(layer), out
            )
        )
        kind = ffi.new("cgc_tensor *")
        self.context.check(lib.cgc_graph_value_type(self.graph.pointer, out[0], kind))
        return Value(out[0], read_type(kind))

    def finish(self, outputs: Sequence[Value], names: Sequence[str] | None = None) -> Graph:
        """Set the outputs (named out_0, out_1, ... unless given), verify, and return the graph."""
        handles = ffi.new("cgc_value[]", [value.handle for value in outputs])
        kept = [ffi.new("char[]", encode(name)) for name in names or ()]
        table = ffi.new("char *[]", kept) if names is not None else ffi.NULL
        self.context.check(lib.cgc_graph_set_outputs(self.graph.pointer, handles, table, len(outputs)))
        self.graph.verify()
        return self.graph
