# SPDX-License-Identifier: Apache-2.0
"""Random small PyTorch models: chains of layers with shortcuts, awkward shapes, shared values, functions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable

Shape = tuple[int, int, int]  # channels, height, width


def _conv(r: random.Random, c: int) -> nn.Module:
    groups = r.choice([1, 1, 1, c, r.choice([d for d in range(1, c + 1) if c % d == 0])])
    out = groups * r.randint(1, 3) if groups > 1 else r.choice([1, 3, 8, 17, 32])
    kernel = (r.choice([1, 1, 2, 3, 5]), r.choice([1, 2, 3, 3]))
    pad = r.choice(["same", "valid", 0, 1, 2, (1, 0), (2, 1)])
    stride = 1 if pad == "same" else r.choice([1, 2, (1, 2), (3, 1)])
    dilation = r.choice([1, 1, 2, (1, 2)])
    conv = nn.Conv2d(c, out, kernel, stride, pad, dilation, groups, bias=r.random() < 0.7)
    return nn.Sequential(conv, nn.BatchNorm2d(out)) if r.random() < 0.4 else conv


def _avg_pool(r: random.Random, _: int) -> nn.Module:
    return nn.AvgPool2d(
        r.choice([2, 3, (2, 3)]),
        r.choice([None, 1, 2]),
        r.choice([0, 1]),
        ceil_mode=r.random() < 0.4,
        count_include_pad=r.random() < 0.5,
        divisor_override=r.choice([None, None, 5]),
    )


def _max_pool(r: random.Random, _: int) -> nn.Module:
    size, stride, pad = r.choice([2, 3, (1, 2)]), r.choice([1, 2]), r.choice([0, 0, 1])
    return nn.MaxPool2d(size, stride, pad, ceil_mode=r.random() < 0.4)


LAYERS: list[Callable[[random.Random, int], nn.Module]] = [
    _conv,
    _conv,
    _conv,
    _avg_pool,
    _max_pool,
    lambda _, c: nn.BatchNorm2d(c),
    lambda r, _: nn.ReLU(inplace=r.random() < 0.5),
    lambda _, __: nn.ReLU6(),
    lambda r, _: nn.Hardtanh(r.choice([-1, -0.5, 0]), r.choice([0.3, 1, 2])),
    lambda _, __: nn.Identity(),
    lambda r, _: nn.AdaptiveAvgPool2d(r.choice([1, 1, (1, None), (None, 1)])),
]


class Clamp(nn.Module):
    """A functional clip with one or two bounds."""

    def __init__(self, low: float | None, high: float | None) -> None:
        super().__init__()
        self.low, self.high = low, high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(x, self.low, self.high)


class AddParameter(nn.Module):
    """A sum with a constant."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.offset = nn.Parameter(torch.randn(shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.offset


class RandomModel(nn.Module):
    """steps: (index of the value that it reads, its layer, or index of the value that is added)."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        r = random.Random(seed)
        torch.manual_seed(seed)
        self.shape = (r.choice([1, 2, 3, 4, 6, 8, 16]), r.randint(1, 14), r.randint(1, 14))
        self.batch = r.choice([1, 1, 2, 3])
        self.layers = nn.ModuleList()
        self.steps: list[tuple[int, int, int]] = []
        shapes: list[Shape] = [self.shape]
        for _ in range(r.randint(1, 6)):
            self._add_step(r, shapes)
        units, flat = r.choice([1, 4, 10]), shapes[-1][0] * shapes[-1][1] * shapes[-1][2]
        self.fc = nn.Linear(flat, units, bias=r.random() < 0.6)
        self.two_outputs = r.random() < 0.2

    def _add_step(self, r: random.Random, shapes: list[Shape]) -> None:
        source = len(shapes) - 1 if r.random() < 0.85 else r.randrange(len(shapes))
        c, h, w = shapes[source]
        if r.random() < 0.2:
            other = r.choice([i for i, shape in enumerate(shapes) if shape == shapes[source]])
            self.steps.append((source, -1, other))
            shapes.append(shapes[source])
            return
        extra = [
            lambda r, _: Clamp(*r.choice([(None, 0.5), (-0.2, None), (-0.3, 0.6)])),
            lambda r, _: AddParameter(r.choice([(1,), (c, 1, 1), (c, h, w)])),
        ]
        try:
            layer = r.choice(LAYERS + extra)(r, c).eval()
            found = layer(torch.zeros(1, c, h, w)).shape[1:]
        except (RuntimeError, ValueError):
            return  # its window does not fit
        if 0 in found:
            return
        self.steps.append((source, len(self.layers), -1))
        self.layers.append(layer)
        shapes.append((found[0], found[1], found[2]))

    def forward(self, x: torch.Tensor) -> Any:
        values = [x]
        for source, layer, other in self.steps:
            a = values[source]
            values.append(self.layers[layer](a) if layer >= 0 else a + values[other])
        y = self.fc(torch.flatten(values[-1], 1))
        return (y, values[len(values) // 2]) if self.two_outputs else y

    def float_layers(self, seed: int) -> dict[str, Any]:
        """Leave one layer float32 in some models."""
        r = random.Random(seed + 1)
        names = [n for n, m in self.named_modules() if isinstance(m, nn.Conv2d | nn.Linear)]
        return {r.choice(names): {"quantize": False}} if r.random() < 0.3 else {}
