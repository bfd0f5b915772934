# SPDX-License-Identifier: Apache-2.0
"""The layers of a quantized model: one class per file.

QUANTIZED maps the float class to its int8 layer, FLOAT to the float32 layer on our kernel. A layer is not
replaced but adopted: the object stays (its name, parameters, hooks and every reference to it) and changes
class.
"""

from torch import nn

from quadric_pyquant.modules.add import Add
from quadric_pyquant.modules.base import FloatModule, QuantModule
from quadric_pyquant.modules.float_add import FloatAdd
from quadric_pyquant.modules.float_affine import FloatAffine
from quadric_pyquant.modules.float_conv2d import FloatConv2d
from quadric_pyquant.modules.float_linear import FloatLinear
from quadric_pyquant.modules.padded_conv2d import PaddedConv2d
from quadric_pyquant.modules.qadd import QAdd
from quadric_pyquant.modules.qavg_pool2d import QAvgPool2d
from quadric_pyquant.modules.qconv2d import QConv2d
from quadric_pyquant.modules.qlinear import QLinear

QUANTIZED: dict[type[nn.Module], type[QuantModule]] = {
    nn.Conv2d: QConv2d,
    PaddedConv2d: QConv2d,
    nn.Linear: QLinear,
    Add: QAdd,
    nn.AvgPool2d: QAvgPool2d,
    nn.AdaptiveAvgPool2d: QAvgPool2d,
}
# An average pool has no entry: the graph around it decides its precision (EXPORT_CONTRACT.md).
FLOAT: dict[type[nn.Module], type[FloatModule]] = {
    nn.Conv2d: FloatConv2d,
    PaddedConv2d: FloatConv2d,
    nn.Linear: FloatLinear,
    Add: FloatAdd,
}

__all__ = [
    "FLOAT",
    "QUANTIZED",
    "Add",
    "FloatAdd",
    "FloatAffine",
    "FloatConv2d",
    "FloatLinear",
    "FloatModule",
    "PaddedConv2d",
    "QAdd",
    "QAvgPool2d",
    "QConv2d",
    "QLinear",
    "QuantModule",
]
