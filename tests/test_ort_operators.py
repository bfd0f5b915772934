# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime as a referee for the other quantized operators, graph optimisations disabled.

Quantize, dequantize, matrix product and global average equal it byte for byte; its sum computes in another
order (it rounds scales first), so there at most one step may differ, in a share that is stated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_conv_ort import has_vnni, shifted

opencgc = pytest.importorskip("opencgc")
onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

Array = npt.NDArray[Any]
MAX_SUM_SHARE = 1e-3


def run_node(op: str, inputs: dict[str, Array], output: int, domain: str = "", **attrs: Any) -> Array:
    """One node whose operands are all graph inputs."""
    helper = onnx.helper
    node = helper.make_node(op, list(inputs), ["y"], domain=domain, **attrs)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    result = helper.make_tensor_value_info("y", output, None)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(
        helper.make_graph([node], "g", infos, [result]), opset_imports=opsets, ir_version=8
    )
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, inputs)[0])


def evaluate(op: str, attrs: str, *inputs: Array) -> Array:
    return np.asarray(opencgc.eval_op(op, attrs, list(inputs))[0])


def tie_heavy(rng: np.random.Generator, scale: np.float32, count: int) -> Array:
    """Half of the values on or next to the borders between two integers."""
    x = rng.uniform(-140, 140, count).astype(np.float32) * scale
    ties = (rng.integers(-130, 130, count // 2) + np.float32(0.5)).astype(np.float32) * scale
    step = rng.choice(np.array([-1, 0, 1], np.int32), count // 2)
    x[: count // 2] = (ties.view(np.int32) + step).view(np.float32)
    return x


def test_quantize_and_dequantize() -> None:
    rng = np.random.default_rng(11)
    for _ in range(12):
        scale, zp = np.float32(rng.uniform(0.001, 0.3)), int(rng.integers(-128, 128))
        x = tie_heavy(rng, scale, 50_000)
        operands = {"x": x, "s": np.array(scale), "z": np.array(zp, np.int8)}
        wanted = run_node("QuantizeLinear", operands, onnx.TensorProto.INT8)
        found = evaluate("qnn.quantize", f"scale={scale!s}f, zero_point={zp}", x)
        assert np.array_equal(found, wanted)
        operands["x"] = wanted
        floats = run_node("DequantizeLinear", operands, onnx.TensorProto.FLOAT)
        back = evaluate("qnn.dequantize", f"scale={scale!s}f, zero_point={zp}", wanted)
        assert np.array_equal(back.view(np.int32), floats.view(np.int32))


def test_matrix_product() -> None:
    rng = np.random.default_rng(12)
    limit = 128 if has_vnni() else 64
    for _ in range(30):
        rows, k, units = (int(v) for v in rng.integers(1, 70, 3))
        x = rng.integers(0, 256, (rows, k)).astype(np.uint8)
        w = rng.integers(-limit, limit, (k, units)).astype(np.int8)
        x_scale, w_scale = (np.float32(v) for v in rng.uniform(0.001, 0.05, 2))
        y_scale = np.float32(x_scale * w_scale * 60 * np.sqrt(k))
        x_zp, y_zp = (int(v) for v in rng.integers(0, 256, 2))
        operands = {
            "a": x,
            "as": np.array(x_scale),
            "az": np.array(x_zp, np.uint8),
            "b": w,
            "bs": np.array(w_scale),
            "bz": np.array(0, np.int8),
            "ys": np.array(y_scale),
            "yz": np.array(y_zp, np.uint8),
        }
        wanted = shifted(run_node("QLinearMatMul", operands, onnx.TensorProto.UINT8))
        attrs = (
            f"units={units}, x_scale={x_scale!s}f, x_zero_point={x_zp - 128}, w_scale={w_scale!s}f, "
            f"y_scale={y_scale!s}f, y_zero_point={y_zp - 128}"
        )
        assert np.array_equal(evaluate("contrib.epu.dense", attrs, shifted(x), w.T.copy()), wanted)


def test_global_average() -> None:
    rng = np.random.default_rng(13)
    for _ in range(20):
        n, c, h, w = (int(v) for v in rng.integers(1, 12, 4))
        x = rng.integers(0, 256, (n, c, h, w)).astype(np.uint8)
        x_scale, y_scale = (np.float32(v) for v in rng.uniform(0.005, 0.05, 2))
        x_zp, y_zp = (int(v) for v in rng.integers(0, 256, 2))
        operands = {
            "x": x,
            "xs": np.array(x_scale),
            "xz": np.array(x_zp, np.uint8),
            "ys": np.array(y_scale),
            "yz": np.array(y_zp, np.uint8),
        }
        wanted = shifted(
            run_node(
                "QLinearGlobalAveragePool",
                operands,
                onnx.TensorProto.UINT8,
                "com.microsoft",
                channels_last=0,
            )
        )
        attrs = (
            f"pool_size=[{h}, {w}], x_scale={x_scale!s}f, x_zero_point={x_zp - 128}, "
            f"y_scale={y_scale!s}f, y_zero_point={y_zp - 128}"
        )
        assert np.array_equal(evaluate("qnn.avg_pool2d", attrs, shifted(x)), wanted)


def test_sum_within_one_step() -> None:
    rng = np.random.default_rng(14)
    a, b = np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, 128, dtype=np.int8))
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    differ = total = 0
    for _ in range(10):
        scales = [np.float32(v) for v in rng.uniform(0.01, 0.08, 3)]
        zps = [int(v) for v in rng.integers(-128, 128, 3)]
        operands: dict[str, Array] = {}
        for name, value, scale, zp in (("a", a, scales[0], zps[0]), ("b", b, scales[1], zps[1])):
            operands |= {name: value, f"{name}s": np.array(scale), f"{name}z": np.array(zp, np.int8)}
        operands |= {"ys": np.array(scales[2]), "yz": np.array(zps[2], np.int8)}
        wanted = run_node("QLinearAdd", operands, onnx.TensorProto.INT8, "com.microsoft")
        names = ("a_scale", "b_scale", "y_scale")
        attrs = ", ".join(
            f"{n}={s!s}f, {n[0]}_zero_point={z}" for n, s, z in zip(names, scales, zps, strict=True)
        )
        found = evaluate("qnn.add", attrs, a, b)
        steps = np.abs(found.astype(int) - wanted.astype(int))
        assert steps.max() <= 1
        differ += int((steps > 0).sum())
        total += steps.size
    assert differ <= MAX_SUM_SHARE * total, f"{differ} of {total} differ"
