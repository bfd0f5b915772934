# SPDX-License-Identifier: Apache-2.0
"""Layer names: the attribute layer_name of every module, and the checks that need to name one.

A layer's name is its module path ("layer1.0.conv2"); a model that was not tagged is named the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from opencgc.errors import QuantizationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn


def tag_all_modules(model: nn.Module) -> None:
    """Give every module the attribute layer_name: its path in the model ("" for the model itself)."""
    for path, module in model.named_modules():
        module.layer_name = path


def join(parent: str, child: str) -> str:
    """Return the path of a child."""
    return f"{parent}.{child}" if parent else child


def layer_name(module: nn.Module, path: str) -> str:
    """Return the tag of a module, its path where it has none."""
    tag = getattr(module, "layer_name", None)
    return tag if isinstance(tag, str) else path


def named_layers(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield every module once, with its layer name."""
    for path, module in model.named_modules():
        yield layer_name(module, path), module


def require_eval(model: nn.Module, step: str) -> None:
    """Raise, naming the layer, unless every module is in eval mode."""
    training = [(name, module) for name, module in named_layers(model) if module.training]
    if not training:
        return
    telling = [item for item in training if isinstance(item[1], _BatchNorm | _DropoutNd)]
    name, module = (telling or training)[0]
    raise QuantizationError(
        f"{step} needs a model in eval mode (training changes BatchNorm and Dropout)",
        layer=name,
        op=type(module).__name__,
        setting="training",
        found="training=True",
        wanted="training=False",
        cure="call model.eval() first",
    )
