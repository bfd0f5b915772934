# SPDX-License-Identifier: Apache-2.0
"""The networks that are measured, quantized per output channel and exported.

Weights are ImageNet's where torch has them already (nothing is fetched), else seeded random numbers: neither
cycles nor milliseconds depend on the values of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torchvision.models import ResNet18_Weights, resnet18

from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import (
    fold_batchnorm,
    freeze_model_weights,
    generate_quant_config,
    quantize_model,
    validate_model_export_ready,
)
from tvm.contrib.epu.chipy import Tensor, export

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn
    from torchvision.models import WeightsEnum

    from opencgc import Graph


@dataclass(frozen=True)
class Network:
    """How to make one model, and its input."""

    make: Callable[..., nn.Module]
    weights: WeightsEnum
    shape: tuple[int, ...]


NETWORKS = {"resnet18": Network(resnet18, ResNet18_Weights.IMAGENET1K_V1, (1, 3, 224, 224))}


def load_network(network: Network) -> tuple[nn.Module, str]:
    """Return the float model and a word on its weights."""
    path = Path(torch.hub.get_dir()) / "checkpoints" / Path(network.weights.url).name
    torch.manual_seed(0)
    model = network.make(weights=None).eval()
    if not path.exists():
        return model, f"seeded random weights: torch has no {path.name} here"
    model.load_state_dict(torch.load(path, weights_only=True))
    return model, f"ImageNet weights from {path}"


def quantize(model: nn.Module, batches: list[torch.Tensor], *, per_channel: bool = True) -> nn.Module:
    """Take a float model up to export, in place."""
    fold_batchnorm(model)
    tag_all_modules(model)
    config = generate_quant_config(model)
    config["defaults"].update(int8_matmul=True, quantize_output=True, w_per_channel=per_channel)
    quantize_model(model, config)
    run_calibration(model, batches, progress=False)
    freeze_model_weights(model)
    validate_model_export_ready(model)
    return model


def quantized_graph(network: Network) -> tuple[Graph, str]:
    """Return the exported int8 graph and a word on its weights."""
    model, origin = load_network(network)
    quantize(model, [torch.randn(4, *network.shape[1:]) for _ in range(2)])
    return export(model, x=Tensor(network.shape, "float32")), origin
