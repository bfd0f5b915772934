# SPDX-License-Identifier: Apache-2.0
"""aten.mean.dim over height and width -> nn.global_avg_pool2d, and a reshape unless keepdim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencgc.errors import OperatorError
from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten.mean.dim")
def convert(call: Call) -> Value:
    """Convert the mean of an image's pixels."""
    image = call.tensor("self")
    rank = len(image.type.shape)
    dims = sorted(dim % rank for dim in call.value("dim") or range(rank))
    if rank != 4 or dims != [2, 3]:
        raise OperatorError(
            "dim: a mean is converted over height and width of [N, C, H, W] only",
            layer=call.layer,
            op=call.op,
            setting="dim",
            found=f"{call.value('dim')} of {image.type}",
            wanted="[2, 3] of a tensor of rank 4",
            cure="use nn.AdaptiveAvgPool2d(1) for the mean of an image",
        )
    average = call.node("nn.global_avg_pool2d", [image])
    return average if call.value("keepdim") else call.node("reshape", [average], newshape=call.shape)
