# SPDX-License-Identifier: Apache-2.0
"""A referee from outside: 500 random convolutions equal ONNX Runtime's QLinearConv byte for byte.

Its graph optimisations are disabled. Activations are uint8 there and int8 here, shifted by 128: exact.
Without VNNI its u8 x s8 kernels saturate sums of two products at 16 bits, so weights then have seven bits.
The independent reference meets the same referee.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import reference

opencgc = pytest.importorskip("opencgc")
onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

Array = npt.NDArray[Any]
CASES, SEED = 500, 20240


def has_vnni() -> bool:
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    flags = cpuinfo.read_text("utf-8").split() if cpuinfo.exists() else []
    return "avx512_vnni" in flags or "avx_vnni" in flags


@dataclass
class Conv:
    x: Array  # uint8
    w: Array  # int8
    bias: Array | None
    strides: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int
    x_scale: np.float32
    w_scale: Array  # one, or one per channel
    y_scale: np.float32
    x_zp: int
    y_zp: int


def random_conv(rng: np.random.Generator, weight_limit: int) -> Conv:
    groups = int(rng.choice([1, 1, 1, 2, 3, 4]))
    cin, cout = groups * int(rng.integers(1, 9)), groups * int(rng.integers(1, 9))
    if rng.random() < 0.15:  # depthwise
        groups = cin = cout = int(rng.integers(1, 13))
    kernel = [int(v) for v in rng.integers(1, 6, 2)]
    dilation = [int(v) for v in rng.choice([1, 1, 2, 3], 2)]
    padding = [int(v) for v in rng.integers(0, 4, 4)]
    span = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    size = [max(s - padding[i] - padding[i + 2], 1) + int(rng.integers(0, 9)) for i, s in enumerate(span)]
    w = rng.integers(-weight_limit - 1, weight_limit + 1, (cout, cin // groups, *kernel)).astype(np.int8)
    terms = w[0].size
    y_scale = np.float32(rng.uniform(0.2, 3) * 70 * 70 * np.sqrt(terms) * 1e-4 / 40)
    return Conv(
        x=rng.integers(0, 256, (int(rng.integers(1, 3)), cin, *size)).astype(np.uint8),
        w=w,
        bias=rng.integers(-9000, 9000, cout).astype(np.int32) if rng.random() < 0.7 else None,
        strides=[int(v) for v in rng.integers(1, 4, 2)],
        padding=padding,
        dilation=dilation,
        groups=groups,
        x_scale=np.float32(rng.uniform(0.005, 0.02)),
        w_scale=rng.uniform(0.005, 0.02, cout if rng.random() < 0.5 else 1).astype(np.float32),
        y_scale=y_scale,
        x_zp=int(rng.integers(0, 256)),
        y_zp=int(rng.integers(0, 256)),
    )


def onnx_model(c: Conv) -> bytes:
    helper, proto = onnx.helper, onnx.TensorProto
    per_channel = c.w_scale.size > 1
    tensors = {
        "x_scale": np.array(c.x_scale),
        "x_zp": np.array(c.x_zp, np.uint8),
        "w": c.w,
        "w_scale": c.w_scale if per_channel else c.w_scale.reshape(()),
        "w_zp": np.zeros(c.w_scale.size if per_channel else (), np.int8),
        "y_scale": np.array(c.y_scale),
        "y_zp": np.array(c.y_zp, np.uint8),
    }
    if c.bias is not None:
        tensors["bias"] = c.bias
    node = helper.make_node(
        "QLinearConv",
        ["x", *tensors],
        ["y"],
        strides=c.strides,
        pads=c.padding,
        dilations=c.dilation,
        group=c.groups,
        kernel_shape=c.w.shape[2:],
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", proto.UINT8, c.x.shape)],
        [helper.make_tensor_value_info("y", proto.UINT8, None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


def run_ort(c: Conv) -> Array:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(onnx_model(c), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": c.x})[0])


def shifted(u8: Array) -> Array:
    return (u8.astype(np.int16) - 128).astype(np.int8)


def run_ours(c: Conv) -> Array:
    inputs = [shifted(c.x), c.w] + ([c.bias] if c.bias is not None else [])
    per_channel = c.w_scale.size > 1
    w_scale = f"input[{len(inputs)}]" if per_channel else f"{c.w_scale[0]!s}f"
    attrs = (
        f"strides={c.strides}, padding={c.padding}, dilation={c.dilation}, groups={c.groups}, "
        f"channels={c.w.shape[0]}, kernel_size={list(c.w.shape[2:])}, bias_fusion={c.bias is not None}, "
        f"x_zero_point={c.x_zp - 128}, x_scale={c.x_scale!s}f, w_zero_point=0, w_scale={w_scale}, "
        f"y_zero_point={c.y_zp - 128}, y_scale={c.y_scale!s}f"
    )
    if per_channel:
        inputs.append(c.w_scale)
    result = opencgc.eval_op("contrib.epu.qlinear_conv2d", attrs, inputs)[0]
    return np.asarray(result)


def run_reference(c: Conv) -> Array:
    attrs = {
        "strides": c.strides,
        "padding": c.padding,
        "dilation": c.dilation,
        "groups": c.groups,
        "x_zero_point": c.x_zp - 128,
        "x_scale": c.x_scale,
        "w_zero_point": 0,
        "w_scale": c.w_scale,
        "y_zero_point": c.y_zp - 128,
        "y_scale": c.y_scale,
    }
    return reference.evaluate("contrib.epu.qlinear_conv2d", [shifted(c.x), c.w, c.bias], attrs)[0]


def test_500_random_convolutions_equal_onnxruntime() -> None:
    rng = np.random.default_rng(SEED)
    weight_limit = 127 if has_vnni() else 63
    total = in_range = 0
    kinds = {"per channel": 0, "groups": 0, "dilated": 0, "strided": 0, "bias": 0}
    for i in range(CASES):
        c = random_conv(rng, weight_limit)
        wanted, found = shifted(run_ort(c)), run_ours(c)
        assert np.array_equal(run_reference(c), wanted), f"case {i}: the reference differs: {c}"
        assert found.shape == wanted.shape, f"case {i}: {c}"
        differ = int((found != wanted).sum())
        assert differ == 0, f"case {i}: {differ} of {found.size} bytes differ: {c}"
        total += found.size
        in_range += int((np.abs(wanted.astype(int)) < 127).sum())
        for kind, here in zip(
            kinds,
            [c.w_scale.size > 1, c.groups > 1, max(c.dilation) > 1, max(c.strides) > 1, c.bias is not None],
            strict=True,
        ):
            kinds[kind] += here
    # The comparison says something only if outputs vary and every kind was met.
    assert in_range > 0.5 * total
    assert all(count > CASES // 10 for count in kinds.values()), kinds
