# SPDX-License-Identifier: Apache-2.0
"""Values of every node of a lowered graph by the references alone: what engines' layers are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference import graph as reference_graph

import opencgc
from opencgc._lib import lib

if TYPE_CHECKING:
    import pathlib

    import numpy as np


def lowered_values(graph: Any, x: np.ndarray, path: pathlib.Path) -> dict[str, np.ndarray]:
    """Lower a copy of a graph with the input "x", saved at path, and evaluate it."""
    graph.save(path)
    lowered = opencgc.load(path)
    lowered.context.check(lib.cgc_graph_run_passes(lowered.pointer, b""))
    lowered.save(path)
    constants = reference_graph.read_constants(path.with_suffix(".safetensors"))
    return reference_graph.evaluate_graph(lowered.format(layers=True), constants, {"x": x})
