# SPDX-License-Identifier: Apache-2.0
"""Random int8 networks for the EPU compiler: awkward shapes, every mapping; a network like ResNet-18."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import opencgc

Shape = tuple[int, int, int, int]
X_SCALE, W_SCALE = 0.02, 0.005
MOST_MACS = 10_000_000


@dataclass(frozen=True)
class Window:
    """Of a pooling layer: height and width of kernel and stride, the same padding on all sides."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: int = 0
    ceil: bool = False

    def extent(self, size: int, axis: int) -> int:
        """Results along an axis of so many values."""
        k, s, p = self.kernel[axis], self.stride[axis], self.pad
        n = (size + 2 * p - k + (s - 1 if self.ceil else 0)) // s + 1
        return n - 1 if self.ceil and (n - 1) * s >= size + p else n


class Net:
    """A graph under construction: the newest value, its NCHW shape and zero point."""

    def __init__(self, seed: int, shape: Shape) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.builder = opencgc.GraphBuilder()
        self.shape = shape
        x = self.builder.input("x", shape, "float32")
        self.feed = {"x": self.numbers.normal(0, 1.3, shape).astype(np.float32)}
        self.value = self.node("qnn.quantize", [x], '0.02f, -5, out_dtype="int8"')
        self.zero_point = -5

    def node(self, op: str, operands: list[Any], attrs: str, layer: str = "") -> Any:
        return self.builder.node(op, operands, attrs, layer)

    def int8(self, *shape: int) -> Any:
        return self.builder.constant(self.numbers.integers(-128, 128, shape).astype(np.int8))

    def _sum(self, count: int, channels: int, per_channel: bool) -> tuple[str, Any]:
        """Scales such that results fill int8, and a bias."""
        scale: Any = f"{W_SCALE}f"
        if per_channel:
            values = self.numbers.uniform(0.001, 0.01, channels).astype(np.float32)
            scale = self.builder.constant(values).reference
        y_scale = X_SCALE * W_SCALE * count**0.5 * 64
        bias = self.builder.constant(self.numbers.integers(-3000, 3000, channels).astype(np.int32))
        text = (
            f"x_zero_point={self.zero_point}, x_scale={X_SCALE}f, w_scale={scale}, w_zero_point=0, "
            f'y_scale={y_scale:.6f}f, y_zero_point=3, out_dtype="int8"'
        )
        return text, bias

    def conv(
        self,
        channels: int,
        kernel: tuple[int, int],
        stride: tuple[int, int] = (1, 1),
        pad: tuple[int, int, int, int] = (0, 0, 0, 0),
        *,
        dilation: tuple[int, int] = (1, 1),
        groups: int = 1,
        per_channel: bool = False,
        clamp_min: int = -128,
        layer: str = "",
    ) -> None:
        n, c, h, w = self.shape
        weight = self.int8(channels, c // groups, *kernel)
        text, bias = self._sum(c // groups * kernel[0] * kernel[1], channels, per_channel)
        attrs = (
            f"strides={list(stride)}, padding={list(pad)}, dilation={list(dilation)}, groups={groups}, "
            f"channels={channels}, kernel_size={list(kernel)}, bias_fusion=True, "
            f"clamp_min={clamp_min}, {text}"
        )
        self.value = self.node("contrib.epu.qlinear_conv2d", [self.value, weight, bias], attrs, layer)
        oh = (h + pad[0] + pad[2] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
        ow = (w + pad[1] + pad[3] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
        self.shape, self.zero_point = (n, channels, oh, ow), 3

    def dense(self, units: int, layer: str = "") -> None:
        n = self.shape[0]
        count = int(np.prod(self.shape[1:]))
        flat = self.node("reshape", [self.value], f"newshape=[{n}, {count}]")
        text, bias = self._sum(count, units, False)
        operands = [flat, self.int8(units, count), bias]
        self.value = self.node("contrib.epu.dense", operands, f"units={units}, {text}", layer)
        self.shape = (n, units, 1, 1)

    def add(self, other: Any, clamp_min: int = -128, layer: str = "", *, ties: bool = False) -> None:
        """ties: scales for which only the division gives the right bytes."""
        scales = (0.031, 0.027, 0.04) if ties else (0.0313274, 0.0271923, 0.0407341)
        attrs = (
            f"a_scale={scales[0]}f, a_zero_point=3, b_scale={scales[1]}f, b_zero_point={self.zero_point}, "
            f"y_scale={scales[2]}f, y_zero_point=3, clamp_min={clamp_min}"
        )
        self.value = self.node("qnn.add", [self.value, other], attrs, layer)
        self.zero_point = 3

    def table(self) -> None:
        self.value = self.node("contrib.epu.table", [self.value, self.int8(256)], "")
        self.zero_point = 3

    def pool(self, op: str, window: Window, more: str = "", layer: str = "") -> None:
        k, s, p = window.kernel, window.stride, window.pad
        text = f"pool_size={list(k)}, strides={list(s)}, padding={[p] * 4}, ceil_mode={window.ceil}{more}"
        self.value = self.node(op, [self.value], text, layer)
        n, c, h, w = self.shape
        self.shape = (n, c, window.extent(h, 0), window.extent(w, 1))

    def max_pool(self, window: Window, layer: str = "") -> None:
        self.pool("nn.max_pool2d", window, layer=layer)

    def avg_pool(self, window: Window, more: str = "", layer: str = "") -> None:
        scales = f", x_scale=0.05f, x_zero_point={self.zero_point}, y_scale=0.03f, y_zero_point=-1{more}"
        self.pool("qnn.avg_pool2d", window, scales, layer)
        self.zero_point = -1

    def finish(self) -> opencgc.Graph:
        return self.builder.finish([self.value])


def _random_conv(net: Net) -> None:
    r = net.random
    n, c, h, w = net.shape
    for _ in range(50):
        groups = r.choice([1, 1, 1, c, r.choice([d for d in range(1, c + 1) if c % d == 0])])
        if groups > 1:
            channels = groups * r.choice([1, 2, 3])
        else:
            channels = r.choice([1, 8, 16, 17, 64, 130, r.randint(1, 300)])
        kernel = (r.choice([1, 1, 2, 3, 5]), r.choice([1, 1, 3, 5]))
        stride = (r.randint(1, 3), r.randint(1, 3))
        dilation = (r.choice([1, 1, 2]), r.choice([1, 1, 3]))
        pad = (0, 0, 0, 0)
        if r.random() < 0.6:
            pad = (r.randint(0, 3), r.randint(0, 3), r.randint(0, 3), r.randint(0, 3))
        reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        if h + pad[0] + pad[2] <= reach[0] or w + pad[1] + pad[3] <= reach[1]:
            continue
        if n * channels * (c // groups) * kernel[0] * kernel[1] * (h + 6) * (w + 6) > MOST_MACS:
            continue
        more = {"per_channel": r.random() < 0.5, "clamp_min": r.choice([-128, 3])}
        net.conv(channels, kernel, stride, pad, dilation=dilation, groups=groups, **more)
        return


def _random_pool(net: Net) -> None:
    r = net.random
    _, _, h, w = net.shape
    k, s = r.choice([1, 2, 3, 5]), r.randint(1, 3)
    p = r.randint(0, k // 2)
    if min(h, w) + 2 * p < k:
        return
    if r.random() < 0.5:
        net.max_pool(Window((k, k), (s, s), p, r.random() < 0.5))
    elif r.random() < 0.4:
        net.avg_pool(Window((h, w), (h, w)))
    else:
        more = r.choice(["", ", count_include_pad=False", ", divisor_override=7"])
        net.avg_pool(Window((k, k), (s, s), p, r.random() < 0.5), more)


def _random_add(net: Net) -> None:
    ties = net.random.random() < 0.5
    if net.random.random() < 0.4:
        net.add(net.int8(*net.shape), ties=ties)
        return
    other = net.value
    net.table()
    net.add(other, ties=ties)


def random_net(seed: int) -> Net:
    r = random.Random(seed)
    c = r.choice([1, 2, 3, 4, 5, 8, 16, 24, 33, 64, 200, 700])
    most = 24 if c < 100 else 8
    net = Net(seed, (r.choice([1, 1, 2, 3]), c, r.randint(1, most), r.randint(1, most)))
    for _ in range(r.randint(1, 5)):
        step = r.choice([_random_conv] * 4 + [_random_pool, _random_add, Net.table])
        step(net)
    if r.random() < 0.3 and np.prod(net.shape[1:]) < 20000:
        net.dense(r.choice([1, 10, 100, 300]))
    if r.random() < 0.7:
        net.value = net.node("qnn.dequantize", [net.value], "0.05f, 3")
    return net


def random_hw(seed: int) -> dict[str, int]:
    r = random.Random(seed + 1)
    if seed % 4 == 0:
        return {}
    macs = r.choice([4, 8, 12, 16, 32, 64])
    return {
        "array_size": r.choice([1, 2, 3, 5, 8, 16, 32]),
        "macs_per_pe": macs,
        "lrm_size": r.choice([size for size in (256, 512, 1024, 4096, 8192) if size >= 8 * macs]),
        "num_acc": r.choice([4, 8, 12, 16]),
        "ocm_size": r.choice([65536, 200000, 1048576, 4194304]),
        "queue_depth": r.choice([1, 2, 8, 64]),
        "arr_port_bytes": r.choice([16, 64]),
        "ddr_latency": r.choice([0, 200, 1000]),
    }


def resnet18(side: int = 224, classes: int = 1000) -> Net:
    """The layers of ResNet-18 with random weights, module paths as in torchvision."""
    net = Net(0, (1, 3, side, side))
    net.conv(64, (7, 7), (2, 2), (3, 3, 3, 3), clamp_min=3, layer="conv1")
    net.max_pool(Window((3, 3), (2, 2), 1), layer="maxpool")
    for stage, channels in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            s = 2 if stage > 1 and block == 0 else 1
            name, start = f"layer{stage}.{block}", (net.value, net.shape)
            net.conv(channels, (3, 3), (s, s), (1, 1, 1, 1), clamp_min=3, layer=f"{name}.conv1")
            net.conv(channels, (3, 3), (1, 1), (1, 1, 1, 1), layer=f"{name}.conv2")
            main, skip = net.value, start[0]
            if s == 2:
                net.value, net.shape = start
                net.conv(channels, (1, 1), (2, 2), layer=f"{name}.downsample.0")
                skip, net.value = net.value, main
            net.add(skip, 3, layer=f"{name}.add")
    net.avg_pool(Window((side // 32, side // 32), (1, 1)), layer="avgpool")
    net.dense(classes, layer="fc")
    net.value = net.node("qnn.dequantize", [net.value], "0.05f, 3")
    return net
