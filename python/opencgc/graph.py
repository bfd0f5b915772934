# SPDX-License-Identifier: Apache-2.0
"""Graph: what export() and load() return. Prints, saves, runs on any engine, proves.

The graph itself lives in C; printing gives its text form and the interpreter is its meaning. Engines other
than the interpreter compile it into a folder of its own, which lasts as long as the Graph.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencgc._lib import encode, ffi, lib, text
from opencgc.handles import Context, Handle
from opencgc.hw import HWConfig, checked_hw
from opencgc.program import DEFAULT_BUILD_PATH, ChimeraModule
from opencgc.tensors import Tensors, TensorType, empty_like_types, named_types, order_inputs

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy as np


@dataclass(frozen=True)
class Proof:
    """Result of prove(): the number of output bytes that differ from the interpreter's, and where."""

    differing: int
    text: str

    def __bool__(self) -> bool:
        """Return whether nothing differs."""
        return self.differing == 0

    def __str__(self) -> str:
        return self.text


class Graph(Handle):
    """A graph of operators with named inputs and outputs."""

    def __init__(self, context: Context, pointer: Any) -> None:
        super().__init__(pointer, lib.cgc_graph_free, context)
        self.context = context
        self._modules: dict[tuple[float, ...], tuple[ChimeraModule, Any]] = {}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Graph:
        """Read a graph that save() wrote."""
        context = Context()
        out = ffi.new("cgc_graph **")
        context.check(lib.cgc_graph_load(context.pointer, encode(str(path)), out))
        return cls(context, out[0])

    @classmethod
    def parse(cls, source: str, constants: Sequence[np.ndarray[Any, Any]] = ()) -> Graph:
        """Read the text form; constants[i] is meta[relay.Constant][i]."""
        context, table = Context(), Tensors(constants)
        out = ffi.new("cgc_graph **")
        context.check(lib.cgc_graph_parse(context.pointer, encode(source), table.table, table.count, out))
        return cls(context, out[0])

    @property
    def inputs(self) -> dict[str, TensorType]:
        """Name and type of each input, in order."""
        return named_types(self.context, self.pointer, "cgc_graph_input")

    @property
    def outputs(self) -> dict[str, TensorType]:
        """Name and type of each output, in order."""
        return named_types(self.context, self.pointer, "cgc_graph_output")

    def format(self, *, layers: bool = False) -> str:
        """Return the text form; layers=True adds the module path of each node."""
        out = ffi.new("const char **")
        self.context.check(lib.cgc_graph_print(self.pointer, int(layers), out))
        return text(out[0])

    def __str__(self) -> str:
        return self.format()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text to path (.cgc) and the constants beside it (.safetensors)."""
        self.context.check(lib.cgc_graph_save(self.pointer, encode(str(path))))

    def verify(self) -> None:
        """Check the whole graph; raise what is wrong."""
        self.context.check(lib.cgc_graph_verify(self.pointer))

    def compile(
        self,
        module_name: str,
        hw: HWConfig | None = None,
        build_path: str | os.PathLike[str] = DEFAULT_BUILD_PATH,
    ) -> ChimeraModule:
        """Write the program to <build_path>/<module_name>/; hw None means the default hardware."""
        hw = checked_hw(hw)
        out = ffi.new("cgc_program **")
        self.context.check(
            lib.cgc_compile(self.pointer, hw.pointer, encode(module_name), encode(str(build_path)), out)
        )
        return ChimeraModule(self.context, out[0])

    def run(
        self, inputs: Mapping[str, Any], engine: str = "interp", hw: HWConfig | None = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Run on {input name: array}; returns {output name: array} in output order.

        engine: "interp" (the meaning of the graph), "host", "host:<variant>", "iss", "iss:race", "epu_host".
        """
        if engine != "interp":
            return self._module(hw).run(inputs, engine)
        arrays = Tensors(order_inputs(inputs, self.inputs))
        outputs = self.outputs
        results = empty_like_types(list(outputs.values()))
        out = Tensors(results)
        self.context.check(
            lib.cgc_graph_interpret(self.pointer, arrays.table, arrays.count, out.table, out.count)
        )
        return dict(zip(outputs, results, strict=True))

    def prove(
        self, inputs: Mapping[str, Any], engines: str | Sequence[str] = (), hw: HWConfig | None = None
    ) -> Proof:
        """Run every engine (or those named) and count the output bytes that differ from the interpreter's.

        engines: names as of run(), in a list or one text with commas.
        """
        names = engines if isinstance(engines, str) else ",".join(engines)
        module = self._module(hw)
        arrays = Tensors(order_inputs(inputs, self.inputs))
        differing, out = ffi.new("int64_t *"), ffi.new("const char **")
        self.context.check(
            lib.cgc_prove(
                self.pointer,
                module.pointer,
                encode(names),
                arrays.table,
                arrays.count,
                differing,
                out,
            )
        )
        return Proof(differing[0], text(out[0]))

    def _module(self, hw: HWConfig | None) -> ChimeraModule:
        """Return this graph compiled for hw, compiled once per hardware."""
        hw = checked_hw(hw)
        key = tuple(hw.values().values())
        if key not in self._modules:
            folder = tempfile.TemporaryDirectory(prefix="opencgc-")
            self._modules[key] = (self.compile("graph", hw, Path(folder.name)), folder)
        return self._modules[key][0]


def load(path: str | os.PathLike[str]) -> Graph:
    """Read a graph that Graph.save() or `cgc` wrote."""
    return Graph.load(path)
