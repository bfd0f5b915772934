# SPDX-License-Identifier: Apache-2.0
"""ChimeraModule: a compiled source tree that can be built, run and reported on.

The tree on disk is the product; a ChimeraModule only names it and calls the C library's runners.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opencgc._lib import encode, ffi, lib, text
from opencgc.handles import Context, Handle
from opencgc.tensors import Tensors, TensorType, empty_like_types, named_types, order_inputs, read_type

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_BUILD_PATH = "ccl_build"


def name_cross_compiler() -> None:
    """Let build.sh find the ziglang package of this Python, unless the user names another."""
    os.environ.setdefault("OPENCGC_PYTHON", sys.executable)


class Report:
    """Figures of a module: .compile (the compiler's), and .text, .csv, .json of the last simulated run."""

    def __init__(self, module: ChimeraModule) -> None:
        self._module = module

    def _format(self, name: str) -> str:
        out = ffi.new("const char **")
        module = self._module
        module.context.check(lib.cgc_program_report(module.pointer, encode(name), out))
        return text(out[0])

    @property
    def compile(self) -> str:
        """What the compiler decided: mapping, tiles and memory of each layer, and its notes."""
        return (Path(self._module.source_path) / "report.txt").read_text("utf-8")

    @property
    def text(self) -> str:
        """Table of the last simulated run."""
        return self._format("text")

    @property
    def csv(self) -> str:
        """One row per layer of the last simulated run."""
        return self._format("csv")

    @property
    def json(self) -> dict[str, Any]:
        """Everything of the last simulated run."""
        values: dict[str, Any] = json.loads(self._format("json"))
        return values

    def __str__(self) -> str:
        return self.text


class LayerValue(NamedTuple):
    """What a layer left in memory: its path, the value of the lowered graph, the row-major array."""

    name: str
    value: str
    array: np.ndarray[Any, Any] | None  # None: this engine does not show the layer


class ChimeraModule(Handle):
    """A compiled program. The default engine is the simulator ("iss")."""

    def __init__(self, context: Context, pointer: Any) -> None:
        super().__init__(pointer, lib.cgc_program_free, context)
        self.context = context
        self.notes = context.notes()
        name_cross_compiler()

    @classmethod
    def open(cls, source_path: str | os.PathLike[str]) -> ChimeraModule:
        """Open a tree that was compiled before."""
        context = Context()
        out = ffi.new("cgc_program **")
        context.check(lib.cgc_program_open(context.pointer, encode(str(source_path)), out))
        return cls(context, out[0])

    @property
    def source_path(self) -> str:
        """Folder of the generated program."""
        return text(lib.cgc_program_source_path(self.pointer))

    @property
    def build_path(self) -> str:
        """Folder of what is built from it, inside source_path."""
        return text(lib.cgc_program_build_path(self.pointer))

    @property
    def report(self) -> Report:
        """Figures of the compiler and of the last simulated run."""
        return Report(self)

    @property
    def inputs(self) -> dict[str, TensorType]:
        """Name and type of each input, in order."""
        return named_types(self.context, self.pointer, "cgc_program_input")

    @property
    def outputs(self) -> dict[str, TensorType]:
        """Name and type of each output, in order."""
        return named_types(self.context, self.pointer, "cgc_program_output")

    def build(self, engine: str = "iss", cc: str = "", flags: str = "", *, traced: bool = False) -> None:
        """Run build.sh of the tree for an engine ("host", "iss", "epu_host")."""
        self.context.check(
            lib.cgc_program_build(self.pointer, encode(engine), encode(cc), encode(flags), int(traced))
        )

    def run(self, inputs: Mapping[str, Any], engine: str = "iss") -> dict[str, np.ndarray[Any, Any]]:
        """Run the program on {input name: array}; returns {output name: array}. Builds first if needed.

        engine: "iss", "iss:race", "host", "host:<variant>", "epu_host".
        """
        arrays = Tensors(order_inputs(inputs, self.inputs))
        outputs = self.outputs
        results = empty_like_types(list(outputs.values()))
        out = Tensors(results)
        self.context.check(
            lib.cgc_program_run(
                self.pointer, encode(engine), arrays.table, arrays.count, out.table, out.count
            )
        )
        return dict(zip(outputs, results, strict=True))

    def layer_values(self, inputs: Mapping[str, Any], engine: str = "iss") -> list[LayerValue]:
        """Run a traced build and return what each layer left in memory, in execution order."""
        arrays = Tensors(order_inputs(inputs, self.inputs))
        out = Tensors(empty_like_types(list(self.outputs.values())))
        self.context.check(
            lib.cgc_program_run_traced(
                self.pointer, encode(engine), arrays.table, arrays.count, out.table, out.count
            )
        )
        return [self._layer_value(i) for i in range(lib.cgc_program_layer_count(self.pointer))]

    def _layer_value(self, i: int) -> LayerValue:
        tensor = ffi.new("cgc_tensor *")
        self.context.check(lib.cgc_program_layer_get(self.pointer, i, tensor))
        name = text(lib.cgc_program_layer_name(self.pointer, i))
        value = text(lib.cgc_program_layer_value(self.pointer, i))
        if tensor.data == ffi.NULL:
            return LayerValue(name, value, None)
        kind = read_type(tensor)
        data = np.frombuffer(ffi.buffer(tensor.data, tensor.bytes), kind.dtype)
        return LayerValue(name, value, data.reshape(kind.shape).copy())

    def __repr__(self) -> str:
        return f"ChimeraModule('{self.source_path}')"
