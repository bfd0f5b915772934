# SPDX-License-Identifier: Apache-2.0
"""QAvgPool2d: nn.AvgPool2d and nn.AdaptiveAvgPool2d.

The graph decides whether the average is the integer one (between a dequantize and a quantize) or float32;
calibration finds out which (tie.py) and the buffer `role` keeps it. Both call the C kernels.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from opencgc.errors import AttributeValueError
from quadric_pyquant import ops
from quadric_pyquant.modules.base import QuantModule
from quadric_pyquant.modules.geometry import pair


class QAvgPool2d(QuantModule):
    """Average over windows, or over all of height and width."""

    def _prepare(self) -> None:
        super()._prepare()
        source: Any = self
        self.output_size: Any = getattr(source, "output_size", None)
        self.adaptive = not hasattr(source, "kernel_size")
        if self.adaptive:
            self.window = self.steps = self.pads = []
            self.ceil_mode, self.count_include_pad, self.divisor_override = False, True, None
        else:
            self.window, self.pads = pair(source.kernel_size), pair(source.padding) * 2
            self.steps = pair(source.stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the average in the layer's stage; x is [N, C, H, W] or [C, H, W]."""
        if x.dim() == 3:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        if self.stage == "observe":
            self._geometry(x)  # calibration fails early on windows that the graph does not have
        return self.run(x)

    def float_forward(self, *operands: Tensor) -> Tensor:
        """Return the float average as torch computes it."""
        if self.adaptive:
            return functional.adaptive_avg_pool2d(operands[0], self.output_size)
        return functional.avg_pool2d(
            operands[0],
            self.window,
            self.steps,
            self.pads[:2],
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def integer_forward(self, *operands: Tensor) -> Tensor:
        """Return the average that the graph means here."""
        x = operands[0]
        y: Tensor
        if self.float_layer:
            y = ops.avg_pool2d(x, *self._geometry(x), self.layer_name)
        else:
            scales = self.x_scale, self.x_zero_point, self.y_scale, self.y_zero_point
            y = ops.qavg_pool2d(x, *scales, *self._geometry(x), self.layer_name)
        return y

    def _geometry(self, x: Tensor) -> tuple[Any, ...]:
        """Return kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override for x."""
        rest = (self.ceil_mode, self.count_include_pad, self.divisor_override)
        if not self.adaptive:
            return self.window, self.steps, self.pads, *rest
        sizes = list(x.shape[2:])
        given = self.output_size if isinstance(self.output_size, tuple | list) else [self.output_size] * 2
        wanted = [size if out is None else int(out) for out, size in zip(given, sizes, strict=True)]
        if wanted == [1, 1]:
            return [], [], [0, 0, 0, 0], *rest
        if any(size % out for size, out in zip(sizes, wanted, strict=True)):
            raise AttributeValueError(
                "an adaptive average pool is supported where its regions are all equal",
                layer=self.layer_name,
                op=nn.AdaptiveAvgPool2d.__name__,
                setting="output_size",
                found=f"output_size {wanted} on an input of {sizes}",
                wanted="sizes that divide the input's",
                cure="choose an output size that divides height and width, or use nn.AvgPool2d",
            )
        window = [size // out for size, out in zip(sizes, wanted, strict=True)]
        return window, window, [0, 0, 0, 0], *rest
