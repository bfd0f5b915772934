# SPDX-License-Identifier: Apache-2.0
"""The network that bench/host.py gives to other runtimes is the same network.

ONNX Runtime, optimisations off, differs from the interpreter by at most one quantization step, because its
float operators round elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

STEP = 0.04
TEXT = f"""def @main(%x: Tensor[(1, 3, 12, 10), float32], output_names=["out_0"]) {{
  %0 = qnn.quantize(%x, 0.02f, -5, out_dtype="int8");
  %1 = contrib.epu.qlinear_conv2d(%0, meta[relay.Constant][0], bias=meta[relay.Constant][1],
         padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], out_dtype="int8",
         bias_fusion=True, x_zero_point=-5, x_scale=0.02f, w_zero_point=0,
         w_scale=meta[relay.Constant][2], y_zero_point=-128, y_scale=0.01f);
  %2 = nn.max_pool2d(%1, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  %3 = contrib.epu.qlinear_conv2d(%2, meta[relay.Constant][3], channels=8,
         kernel_size=[1, 1], out_dtype="int8", bias_fusion=False, padding=[0, 0, 0, 0], x_zero_point=-128,
         x_scale=0.01f, w_zero_point=0, w_scale=0.01f, y_zero_point=7, y_scale=0.02f, clamp_min=7);
  %4 = qnn.add(%3, %2, a_scale=0.02f, a_zero_point=7, b_scale=0.01f, b_zero_point=-128, y_scale=0.03f,
         y_zero_point=-20);
  %5 = qnn.avg_pool2d(%4, pool_size=[6, 5], x_scale=0.03f, x_zero_point=-20, y_scale=0.02f, y_zero_point=3);
  %6 = reshape(%5, newshape=[1, 8]);
  %7 = contrib.epu.dense(%6, meta[relay.Constant][4], meta[relay.Constant][5], units=4, x_scale=0.02f,
         x_zero_point=3, w_scale=0.01f, y_scale={STEP}f, y_zero_point=13, out_dtype="int8");
  qnn.dequantize(%7, {STEP}f, 13)
}}
"""


def test_same_network(rng: np.random.Generator) -> None:
    from qdq import to_onnx

    constants = [
        rng.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8),
        rng.integers(-900, 900, 8).astype(np.int32),
        rng.uniform(0.001, 0.003, 8).astype(np.float32),
        rng.integers(-127, 128, (8, 8, 1, 1)).astype(np.int8),
        rng.integers(-127, 128, (4, 8)).astype(np.int8),
        rng.integers(-900, 900, 4).astype(np.int32),
    ]
    graph = opencgc.Graph.parse(TEXT, constants)
    x = rng.uniform(-2.5, 2.5, (1, 3, 12, 10)).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(to_onnx(graph), options, providers=["CPUExecutionProvider"])
    theirs = session.run(None, {"x": x})[0]
    ours = graph.run({"x": x})["out_0"]
    assert np.unique(ours).size > 1
    assert np.abs(theirs - ours).max() <= 1.01 * STEP
