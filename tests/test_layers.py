# SPDX-License-Identifier: Apache-2.0
"""A small residual network: the value after every layer, on every engine, equals the independent reference.

The lowered graph is read back from its text by a reader of its own (tests/reference/graph.py) and evaluated
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")
lowered = pytest.importorskip("lowered")
if TYPE_CHECKING:
    import pathlib

ENGINES = ["host:ref", "host", "epu_host", "iss"]
ZP, SCALE = -128, 0.03


class Network:
    """Builds quantized layers with float glue between them, as the PyTorch front end exports them."""

    def __init__(self, *, per_channel: bool) -> None:
        self.b = opencgc.GraphBuilder()
        self.rng = np.random.default_rng(5)
        self.per_channel = per_channel

    def quantize(self, x: Any, scale: float, zp: int) -> Any:
        return self.b.node("qnn.quantize", [x], f"{scale}f, {zp}")

    def dequantize(self, q: Any, scale: float, zp: int) -> Any:
        return self.b.node("qnn.dequantize", [q], f"{scale}f, {zp}")

    def weights(self, shape: tuple[int, ...]) -> tuple[Any, Any, str]:
        w = self.b.constant(self.rng.integers(-128, 128, shape).astype(np.int8))
        bias = self.b.constant(self.rng.integers(-2000, 2000, shape[0]).astype(np.int32))
        if not self.per_channel:
            return w, bias, "0.004f"
        scales = self.rng.uniform(0.002, 0.006, shape[0]).astype(np.float32)
        return w, bias, str(self.b.constant(scales).reference)

    def conv(self, x: Any, form: tuple[int, int, int], zp: int, name: str, *, relu: bool) -> Any:
        """Float value in, float value out: quantize, convolution, dequantize, maybe relu."""
        cout, kernel, stride = form
        cin, pad = x.type.shape[1], kernel // 2
        w, bias, w_scale = self.weights((cout, cin, kernel, kernel))
        y_scale, y_zp = 0.0011 * cin**0.5 * kernel, ZP if relu else 3
        attrs = (
            f"strides=[{stride}, {stride}], padding={[pad] * 4}, channels={cout}, "
            f"kernel_size=[{kernel}, {kernel}], bias_fusion=True, x_zero_point={zp}, x_scale={SCALE}f, "
            f"w_zero_point=0, w_scale={w_scale}, y_zero_point={y_zp}, y_scale={np.float32(y_scale)!s}f"
        )
        q = self.quantize(x, SCALE, zp)
        y = self.b.node("contrib.epu.qlinear_conv2d", [q, w, bias], attrs, name)
        y = self.dequantize(y, float(np.float32(y_scale)), y_zp)
        return self.b.node("nn.relu", [y], layer=name) if relu else y

    def add(self, a: Any, b: Any, name: str) -> Any:
        a, b = self.quantize(a, SCALE, ZP), self.quantize(b, 0.05, 3)
        attrs = f"a_scale={SCALE}f, a_zero_point={ZP}, b_scale=0.05f, b_zero_point=3, "
        attrs += f"y_scale=0.04f, y_zero_point={ZP}"
        y = self.b.node("qnn.add", [a, b], attrs, name)
        return self.b.node("nn.relu", [self.dequantize(y, 0.04, ZP)], layer=name)

    def build(self) -> Any:
        x = self.b.input("x", (1, 3, 33, 32))
        x = self.conv(x, (16, 7, 2), 4, "conv1", relu=True)
        x = self.b.node(
            "nn.max_pool2d", [x], "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]", "pool"
        )
        y = self.conv(x, (16, 3, 1), ZP, "layer1.conv1", relu=True)
        y = self.conv(y, (16, 3, 1), ZP, "layer1.conv2", relu=False)
        x = self.add(x, y, "layer1.add")
        y = self.conv(x, (24, 3, 2), ZP, "layer2.conv1", relu=True)
        y = self.conv(y, (24, 3, 1), ZP, "layer2.conv2", relu=False)
        x = self.add(self.conv(x, (24, 1, 2), ZP, "layer2.down", relu=False), y, "layer2.add")
        x = self.b.node("nn.global_avg_pool2d", [x], layer="avgpool")
        x = self.b.node("reshape", [x], "newshape=[1, 24]", "flatten")
        q = self.quantize(x, 0.02, ZP)
        w, bias, w_scale = self.weights((10, 24))
        attrs = (
            f"units=10, x_scale=0.02f, x_zero_point={ZP}, w_scale={w_scale}, y_scale=0.05f, y_zero_point=1"
        )
        y = self.b.node("contrib.epu.dense", [q, w, bias], attrs, "fc")
        return self.b.finish([self.dequantize(y, 0.05, 1)])


@pytest.mark.slow
@pytest.mark.parametrize("per_channel", [False, True], ids=["per tensor", "per channel"])
def test_every_layer_equals_reference(tmp_path: pathlib.Path, *, per_channel: bool) -> None:
    graph = Network(per_channel=per_channel).build()
    x = np.random.default_rng(6).uniform(-3, 3, (1, 3, 33, 32)).astype(np.float32)
    wanted = lowered.lowered_values(graph, x, tmp_path / "lowered.cgc")
    last = list(wanted.values())[-1]
    assert np.array_equal(graph.run({"x": x})["out_0"], last)
    assert len(np.unique(last)) > 3  # the network says something
    module = graph.compile("net", build_path=tmp_path)
    for engine in ENGINES:
        compared = 0
        for layer in module.layer_values({"x": x}, engine):
            if layer.array is None or layer.value not in wanted:
                continue
            right = wanted[layer.value]
            assert np.array_equal(layer.array, right), f"{engine}: layer {layer.name} ({layer.value})"
            assert len(np.unique(right)) > 1, f"layer {layer.name} has one value: nothing is compared"
            compared += 1
        assert compared >= 12, f"{engine} showed {compared} layers"


@pytest.mark.slow
def test_sums_of_other_shapes_before_padding() -> None:
    """Sums with constants and repeated operands, whose results have a border of zero points around them."""
    rng, b = np.random.default_rng(0), opencgc.GraphBuilder()
    q = b.node("qnn.quantize", [b.input("x", (1, 8, 9, 7))], "0.02f, 0")
    full = b.constant(rng.integers(-128, 128, (1, 8, 9, 7)).astype(np.int8))
    channels = b.constant(rng.integers(-128, 128, (8, 1, 1)).astype(np.int8))
    pool = "pool_size=[9, 7], x_scale=0.02f, x_zero_point=0, y_scale=0.02f, y_zero_point=0"
    pooled = b.node("qnn.avg_pool2d", [q], pool)
    outputs = []
    for left, right in ((q, full), (q, channels), (pooled, q)):
        scales = "a_scale=0.02f, a_zero_point=0, b_scale=0.03f, b_zero_point=1, y_scale=0.04f, y_zero_point=5"
        total = b.node("qnn.add", [left, right], scales)
        w = b.constant(rng.integers(-128, 128, (8, 8, 3, 3)).astype(np.int8))
        attrs = (
            "padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], bias_fusion=False, x_zero_point=5, "
            "x_scale=0.04f, w_zero_point=0, w_scale=0.01f, y_zero_point=0, y_scale=0.3f"
        )
        outputs.append(b.node("contrib.epu.qlinear_conv2d", [total, w], attrs))
    proof = b.finish(outputs).prove({"x": rng.uniform(-2, 2, (1, 8, 9, 7)).astype(np.float32)})
    assert proof.differing == 0, proof.text
