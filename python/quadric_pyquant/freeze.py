# SPDX-License-Identifier: Apache-2.0
"""freeze_model_weights: rounds every weight and bias to integers; afterwards forward is the integer path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from opencgc.errors import QuantizationError
from quadric_pyquant.calibrate import quantized_layers
from quadric_pyquant.modules.base import Role

if TYPE_CHECKING:
    from torch import nn


def freeze_model_weights(model: nn.Module) -> None:
    """Bake int8 weights and int32 biases of all calibrated layers, in place.

    Weights are symmetric in [-127, 127]. The scale of a channel is raised where its bias or its largest
    possible sum would not fit int32. The float weights stay, so a model can be calibrated and frozen again.
    """
    layers = quantized_layers(model)
    for name, layer in layers.items():
        if int(layer.role) == Role.UNUSED:
            continue
        if not bool(layer.calibrated):
            raise QuantizationError(
                "the layer is not calibrated, so its bias has no scale",
                layer=name,
                op=type(layer).__name__,
                setting="calibrated",
                found="calibrated=False",
                wanted="calibrated=True",
                cure="call run_calibration(model, loader) before freeze_model_weights",
            )
        for tensor in ("weight", "bias"):
            value = getattr(layer, tensor, None)
            if value is not None and not torch.isfinite(value).all():
                raise QuantizationError(
                    f"the {tensor} has values that are not finite",
                    layer=name,
                    op=type(layer).__name__,
                    setting=tensor,
                    found=f"{int((~torch.isfinite(value)).sum())} of {value.numel()} values",
                    wanted="finite values",
                    cure="load a checkpoint whose weights are finite",
                )
    for layer in layers.values():
        if int(layer.role) != Role.UNUSED:
            layer.freeze()
