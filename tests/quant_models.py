# SPDX-License-Identifier: Apache-2.0
"""Small models and steps that the tests of quadric_pyquant share."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import torch
from torch import nn

from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import (
    fold_batchnorm,
    freeze_model_weights,
    generate_quant_config,
    quantize_model,
)


def images(*shape: int, count: int = 3, seed: int = 1) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for _ in range(count)]


def shake_batchnorm(model: nn.Module) -> nn.Module:
    """Give every BatchNorm statistics and weights that change values; eval mode."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.2, 2.0)
            if module.affine:
                module.weight.data.uniform_(0.5, 1.5)
                module.bias.data.uniform_(-0.5, 0.5)
    return model.eval()


def prepared(model: nn.Module, layers: dict | None = None, **defaults) -> nn.Module:
    """Take a float model through folding, tagging and quantize_model, silently."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.eval()
        fold_batchnorm(model)
        tag_all_modules(model)
        config = generate_quant_config(model)
        config["defaults"].update(defaults)
        config["layers"].update(layers or {})
        return quantize_model(model, config)


def quantized(model: nn.Module, batches: list, layers: dict | None = None, **defaults) -> nn.Module:
    """Take a float model up to the frozen state, silently."""
    prepared(model, layers, **defaults)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_calibration(model, batches, progress=False)
        freeze_model_weights(model)
    return model


def sqnr_db(reference: torch.Tensor, value: torch.Tensor) -> float:
    reference, value = reference.detach(), value.detach()
    error = float(((reference - value).double() ** 2).sum())
    return 200.0 if error == 0 else 10 * float(np.log10(float((reference.double() ** 2).sum()) / error))


def clone(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model)


class Block(nn.Module):
    """The residual block of ResNet, with one shared in-place relu and a functional in-place sum."""

    def __init__(self, planes: int = 6, *, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride > 1:
            self.downsample = nn.Sequential(nn.Conv2d(planes, planes, 1, stride), nn.BatchNorm2d(planes))

    def forward(self, x):
        identity = x
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class SmallResNet(nn.Module):
    """Every kind of edge that ResNet-18 has, small."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(6)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(Block(), Block(stride=2))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(6, 5)

    def forward(self, x):
        x = self.layer1(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))
