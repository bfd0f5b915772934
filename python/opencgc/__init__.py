# SPDX-License-Identifier: Apache-2.0
"""OpenCGC: graphs of quantized networks, compiled to C and run with the same bytes on every engine.

load() and the front ends return a Graph; Graph.run, .prove, .compile and .save do the rest. No torch here.
"""

from opencgc._lib import version as __version__
from opencgc.builder import GraphBuilder, Value
from opencgc.errors import Error
from opencgc.graph import Graph, Proof, load
from opencgc.hw import HWConfig
from opencgc.ops import eval_op, infer_op, op_names
from opencgc.program import ChimeraModule, Report
from opencgc.tensors import TensorType

__all__ = [
    "ChimeraModule",
    "Error",
    "Graph",
    "GraphBuilder",
    "HWConfig",
    "Proof",
    "Report",
    "TensorType",
    "Value",
    "__version__",
    "eval_op",
    "infer_op",
    "load",
    "op_names",
]
