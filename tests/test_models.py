# SPDX-License-Identifier: Apache-2.0
"""Small PyTorch models of every kind: the int8 module's bytes on every engine and on other machines.

A model is made, quantized on seeded data, exported, and run as PyTorch module, interpreter, host program
(portable and best variant), EPU text on the host, and simulated program with the race detector.
"""

from __future__ import annotations

import inspect
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")
torch = pytest.importorskip("torch")
pytest.importorskip("ziglang", reason="the cross compiler (PyPI package ziglang) is not installed")
from quant_models import SmallResNet, quantized, shake_batchnorm
from random_models import RandomModel
from torch import nn
from torch.nn import functional

from tvm.contrib.epu.chipy import Tensor, export

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow
ENGINES = ["host:ref", "host", "epu_host", "iss:race"]
FLOAT = {"quantize": False}


class Depthwise(nn.Module):
    """The parts of MobileNet."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6())
        self.wide = nn.Sequential(nn.Conv2d(16, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU6())
        self.depth = nn.Sequential(nn.Conv2d(24, 24, 3, 2, 1, groups=24), nn.BatchNorm2d(24), nn.ReLU6())
        self.narrow = nn.Sequential(nn.Conv2d(24, 16, 1), nn.BatchNorm2d(16))
        self.more = nn.Conv2d(16, 32, 3, padding=1, groups=16)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.more(self.narrow(self.depth(self.wide(self.stem(x)))))
        return self.fc(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))


class Stack(nn.Sequential):
    """Layers one after another."""


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Conv2d(3, 8, 3, padding=1)
        self.right = nn.Conv2d(5, 8, (1, 3), padding=(0, 1))
        self.tail = nn.Conv2d(8, 6, 1)

    def forward(self, a, b):
        return self.tail(torch.relu(self.left(a) + self.right(b)))


class TwoOutputs(nn.Module):
    """One output is also used inside; the other is an int8 value behind a reshape."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, padding=1)
        self.b = nn.Conv2d(8, 4, 3, 2, 1)

    def forward(self, x):
        y = torch.relu(self.a(x))
        return y, torch.flatten(self.b(y), 1)


class Averages(nn.Module):
    """Every kind of average whose divisor changes from window to window."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 10, 3, padding=1)
        self.ceil = nn.AvgPool2d(3, 2, 1, ceil_mode=True)
        self.b = nn.Conv2d(10, 10, 3, padding=1)
        self.cut = nn.AvgPool2d((2, 3), (1, 2), (1, 1), count_include_pad=False)
        self.c = nn.Conv2d(10, 7, 1)
        self.both = nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)
        self.d = nn.Conv2d(7, 7, 1)
        self.fixed = nn.AvgPool2d(2, divisor_override=3)

    def forward(self, x):
        x = torch.relu(self.b(self.ceil(torch.relu(self.a(x)))))
        return self.fixed(self.d(self.both(self.c(self.cut(x)))))


class Sequence(nn.Module):
    """Linear layers on [batch, steps, features]."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(12, 33), nn.Linear(33, 12, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Reused(nn.Module):
    """One layer called twice, and a value with three uses."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.conv = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        y = torch.relu(self.conv(x)) + x
        return functional.max_pool2d(y + functional.avg_pool2d(x, 3, 1, 1), 2)


class HandedOn(nn.Module):
    """An input that is an output, one value that is two outputs, a sum with a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.offset = nn.Parameter(torch.randn(6, 1, 1))

    def forward(self, x):
        y = functional.relu6(self.conv(x) + self.offset)
        return x, y, y


class Offset(nn.Module):
    """A sum with a constant of the value's own shape, without the dimension of images."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, padding=1)
        self.offset = nn.Parameter(torch.randn(5, 12, 13))

    def forward(self, x):
        return self.conv(x) + self.offset


class Clamps(nn.Module):
    """Clips with one bound and with two, on int8 and on float32 values, around an average too."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Conv2d(3, 3, 3, padding=1) for _ in range(3))

    def forward(self, x):
        x = torch.clamp(self.a(x), min=-0.25)
        x = functional.avg_pool2d(functional.relu6(x), 2)
        x = torch.clamp(self.b(torch.clamp(x, 0.1, 0.5)), max=0.3)
        return functional.hardtanh(self.c(x), -0.2, 0.4)


def batchnorm_left() -> nn.Module:
    """BatchNorm in front of, and between, where nothing can take it in."""
    return shake_batchnorm(
        Stack(
            nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 8, 3), nn.ReLU(), nn.BatchNorm2d(8),
            nn.Conv2d(8, 6, 3, 2), nn.Flatten(), nn.Linear(150, 7), nn.ReLU(), nn.BatchNorm1d(7),
        )
    )  # fmt: skip


class Case(NamedTuple):
    make: Callable[[], nn.Module]
    shapes: list[tuple[int, ...]]
    layers: dict[str, Any] = {}  # noqa: RUF012 - never changed


THREE = (1, 3, 12, 13)
CASES = {
    "depthwise": Case(Depthwise, [(1, 3, 29, 31)]),
    "grouped, dilated": Case(
        lambda: Stack(
            nn.Conv2d(8, 24, 3, padding=2, dilation=2, groups=4), nn.ReLU(),
            nn.Conv2d(24, 16, (3, 1), (1, 2), (3, 0), (3, 1), groups=2), nn.Hardtanh(-0.5, 1.5),
            nn.Conv2d(16, 16, 5, padding="same", dilation=(1, 2)),
        ),
        [(1, 8, 15, 18)],
    ),
    "long and thin": Case(
        lambda: Stack(
            nn.Conv2d(2, 9, (1, 7), (1, 3), (0, 2)), nn.ReLU(), nn.MaxPool2d((2, 3), (1, 2), (1, 1)),
            nn.Conv2d(9, 5, (5, 1), padding=(2, 0)), nn.MaxPool2d(3, 2, ceil_mode=True),
        ),
        [(1, 2, 5, 97)],
    ),
    "batch of two": Case(SmallResNet, [(2, 3, 17, 16)]),
    "batch of three, many channels": Case(
        lambda: Stack(
            nn.Conv2d(300, 270, 1), nn.ReLU(), nn.Conv2d(270, 5, 2, 2), nn.Flatten(), nn.Linear(20, 3)
        ),
        [(3, 300, 4, 4)],
    ),
    "averages": Case(Averages, [(1, 3, 17, 20)]),
    "batchnorm left": Case(batchnorm_left, [(1, 3, 13, 13)]),
    "sequence": Case(Sequence, [(2, 5, 12)]),
    "two inputs": Case(TwoInputs, [(1, 3, 9, 11), (1, 5, 9, 11)]),
    "two outputs": Case(TwoOutputs, [THREE]),
    "reused": Case(Reused, [THREE]),
    "handed on": Case(HandedOn, [THREE]),
    "offset": Case(Offset, [THREE]),
    "dense": Case(
        lambda: Stack(
            nn.Linear(513, 700), nn.ReLU(), nn.Linear(700, 1, bias=False), nn.Hardtanh(-0.2, 0.3)
        ),
        [(7, 513)],
    ),
    "pools only": Case(
        lambda: Stack(nn.MaxPool2d(3, 1, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d((3, 2)), nn.Flatten()),
        [(2, 5, 12, 10)],
    ),
    "clamps": Case(Clamps, [THREE]),
    "clamps of float layers": Case(Clamps, [THREE], {"a": FLOAT, "b": FLOAT}),
    "pad same": Case(
        lambda: Stack(nn.Conv2d(3, 4, 4, padding="same"), nn.AdaptiveAvgPool2d((1, 13))), [THREE]
    ),
    "one pixel": Case(
        lambda: Stack(nn.Conv2d(40, 33, 3, padding=1), nn.ReLU(), nn.Conv2d(33, 4, 1)), [(1, 40, 1, 1)]
    ),
    "long sums": Case(
        lambda: Stack(
            nn.Conv2d(3, 600, 1), nn.ReLU(), nn.Conv2d(600, 20, 3, padding=1), nn.Conv2d(20, 520, 1, 2)
        ),
        [(1, 3, 7, 6)],
    ),
    "ends in integers": Case(
        lambda: Stack(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), [THREE]
    ),
    "float first": Case(SmallResNet, [(1, 3, 16, 16)], {"conv1": FLOAT}),
    "float in the middle": Case(
        SmallResNet, [(1, 3, 16, 16)], {"layer1.0.conv2": FLOAT, "layer1.1.add": FLOAT}
    ),
    "float last": Case(SmallResNet, [(1, 3, 16, 16)], {"fc": FLOAT}),
    "float throughout": Case(SmallResNet, [(1, 3, 16, 16)], {"defaults": FLOAT}),
    "all float": Case(lambda: Stack(nn.Conv2d(3, 4, 3), nn.ReLU()), [THREE], {"0": FLOAT}),
    "float with groups": Case(
        lambda: Stack(nn.Conv2d(6, 9, 3, 2, 1, (2, 1), 3), nn.ReLU(), nn.Conv2d(9, 4, 1)),
        [(2, 6, 9, 8)],
        {"0": FLOAT},
    ),
}  # fmt: skip
MACHINES = {
    "8x8x16": {"array_size": 8, "macs_per_pe": 16},
    "4x4x4, LRM 512": {"array_size": 4, "macs_per_pe": 4, "lrm_size": 512, "ocm_size": 1 << 17},
    "32x32x16": {"array_size": 32, "macs_per_pe": 16, "ddr_bytes_per_cycle": 64},
    "1x1x4": {"array_size": 1, "macs_per_pe": 4, "queue_depth": 1, "ddr_latency": 0},
}


class Built(NamedTuple):
    graph: Any
    inputs: dict[str, np.ndarray]
    wanted: list[np.ndarray]


def build(name: str) -> Built:
    """Quantize and export a case, and compute the PyTorch module's outputs."""
    make, shapes, layers = CASES[name]
    seed = zlib.crc32(name.encode())
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    samples = [tuple(torch.randn(*shape, generator=generator) for shape in shapes) for _ in range(3)]
    layers = dict(layers)
    defaults = {"w_per_channel": seed % 2 == 0, **layers.pop("defaults", {})}
    model = make()
    names = list(inspect.signature(model.forward).parameters)
    quantized(model, [dict(zip(names, sample, strict=True)) for sample in samples], layers, **defaults)
    graph = export(model, **{n: Tensor(shape, "float32") for n, shape in zip(names, shapes, strict=True)})
    with torch.no_grad():
        found = model(*samples[0])
    outputs = found if isinstance(found, tuple) else (found,)
    inputs = {n: sample.numpy() for n, sample in zip(names, samples[0], strict=True)}
    return Built(graph, inputs, [y.numpy() for y in outputs])


def differing(wanted: list[np.ndarray], found: dict[str, np.ndarray]) -> int:
    total = 0
    for w, f in zip(wanted, found.values(), strict=True):
        assert (w.shape, w.dtype) == (f.shape, f.dtype)
        total += int(np.count_nonzero(w.copy().view(np.uint8) != f.view(np.uint8)))
    return total


@pytest.mark.parametrize("name", CASES)
def test_every_engine_has_the_modules_bytes(name: str) -> None:
    graph, inputs, wanted = build(name)
    assert all(len(np.unique(y)) > 1 for y in wanted)
    found = {e: differing(wanted, graph.run(inputs, e)) for e in ["interp", *ENGINES]}
    assert found == dict.fromkeys(found, 0)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "name", ["depthwise", "batch of two", "averages", "long sums", "float in the middle"]
)
def test_other_machines(name: str, machine: str) -> None:
    graph, inputs, wanted = build(name)
    hw = opencgc.HWConfig(**MACHINES[machine])
    assert differing(wanted, graph.run(inputs, "iss:race", hw)) == 0
    report = graph._module(hw).report.json
    layers, total = report["layers"], report["total"]
    assert sum(layer["cycles"] for layer in layers) == total["cycles"] >= total["roofline_cycles"]
    assert all(layer["mac_utilization"] <= 1 for layer in layers)


@pytest.mark.parametrize("seed", range(48))
def test_random_models(seed: int) -> None:
    """The front end on every model, the programs on some, each on a machine of its own."""
    model = shake_batchnorm(RandomModel(seed))
    shape = (model.batch, *model.shape)
    batches = [torch.randn(shape) for _ in range(2)]
    quantized(model, [x.clone() for x in batches], model.float_layers(seed), w_per_channel=seed % 2 == 0)
    graph = export(model, x=Tensor(shape, "float32"))
    with torch.no_grad():
        found = model(batches[0].clone())
    wanted = [y.contiguous().numpy() for y in (found if isinstance(found, tuple) else (found,))]
    machine = list(MACHINES.values())[seed // 8 % len(MACHINES)]
    engines = ["interp", "host", "iss:race"] if seed % 8 == 0 else ["interp"]
    for engine in engines:
        run = graph.run({"x": batches[0].numpy()}, engine, opencgc.HWConfig(**machine))
        assert differing(wanted, run) == 0, engine


def test_integers_in_and_out() -> None:
    """Inputs and outputs are int8: nothing is quantized on the way in or dequantized at the end."""
    rng = np.random.default_rng(2)
    b = opencgc.GraphBuilder()
    x = b.input("x", (2, 7, 9, 8), "int8")
    w = b.constant(rng.integers(-128, 128, (5, 7, 3, 3)).astype(np.int8))
    attrs = "padding=[1, 1, 1, 1], channels=5, kernel_size=[3, 3], bias_fusion=False, x_zero_point=7, "
    attrs += "x_scale=0.02f, w_zero_point=0, w_scale=0.01f, y_zero_point=-3, y_scale=0.3f"
    y = b.node("contrib.epu.qlinear_conv2d", [x, w], attrs, "conv")
    pooled = b.node("nn.max_pool2d", [y], "pool_size=[3, 3], strides=[2, 2]", "pool")
    graph = b.finish([pooled, b.node("reshape", [y], "newshape=[2, 360]"), x])
    inputs = {"x": rng.integers(-128, 128, (2, 7, 9, 8)).astype(np.int8)}
    proof = graph.prove(inputs)
    assert proof.differing == 0, proof.text
    outputs = list(graph.run(inputs).values())
    assert [y.dtype for y in outputs] == [np.int8] * 3
    assert np.array_equal(outputs[2], inputs["x"])
