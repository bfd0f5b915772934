# SPDX-License-Identifier: Apache-2.0
"""QWeighted: what QConv2d and QLinear share: int8 weight, int32 bias, weight scale beside the float ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from quadric_pyquant.arithmetic import fake_quantize_weight, freeze_weight
from quadric_pyquant.modules.base import QuantModule


class QWeighted(QuantModule):
    """An int8 layer with a weight [out, ...] and an optional bias [out]."""

    weight: Tensor
    bias: Tensor | None
    weight_q: Tensor
    bias_q: Tensor | None
    w_scale: Tensor

    def _prepare(self) -> None:
        super()._prepare()
        device, out = self.weight.device, self.weight.shape[0]
        self.register_buffer("weight_q", torch.zeros(self.weight.shape, dtype=torch.int8, device=device))
        bias_q = None if self.bias is None else torch.zeros(out, dtype=torch.int32, device=device)
        self.register_buffer("bias_q", bias_q)
        self.register_buffer("w_scale", self._scale_buffer(per_channel=self.quant_settings["w_per_channel"]))

    def _scale_buffer(self, *, per_channel: bool) -> Tensor:
        shape = (self.weight.shape[0],) if per_channel else ()
        return torch.ones(shape, device=self.weight.device)

    def freeze(self) -> None:
        """Round the weight and the bias to integers."""
        y_scale = self.affine("y").scale if self.quantizes_output else None
        bias = None if self.bias is None else self.bias.detach().cpu().numpy()
        frozen = freeze_weight(
            self.weight.detach().cpu().numpy(),
            bias,
            self.affine("x"),
            y_scale,
            per_channel=self.w_scale.dim() == 1,
        )
        self.weight_q.copy_(torch.from_numpy(frozen.weight_q))
        self.w_scale.copy_(torch.as_tensor(frozen.w_scale))
        if self.bias_q is not None and frozen.bias_q is not None:
            self.bias_q.copy_(torch.from_numpy(frozen.bias_q))
        super().freeze()

    def fake_compute(self, *operands: Tensor) -> Tensor:
        """Compute the float layer with the weight rounded to its int8 grid."""
        weight = fake_quantize_weight(self.weight, per_channel=self.w_scale.dim() == 1)
        return self.compute(operands[0], weight)

    def float_forward(self, *operands: Tensor) -> Tensor:
        """Compute the float layer."""
        return self.compute(operands[0], self.weight)

    @abstractmethod
    def compute(self, x: Tensor, weight: Tensor) -> Tensor:
        """Compute the float layer with a given weight."""

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # The checkpoint decides whether there is one weight scale or one per channel.
        loaded = state_dict.get(f"{prefix}w_scale")
        if isinstance(loaded, torch.Tensor) and loaded.dim() != self.w_scale.dim():
            self.w_scale = self._scale_buffer(per_channel=loaded.dim() == 1)
            self.quant_settings["w_per_channel"] = loaded.dim() == 1
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
