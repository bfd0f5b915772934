# SPDX-License-Identifier: Apache-2.0
"""BatchNorm left in the model -> the error that says how to fold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opencgc.errors import QuantizationError
from tvm.contrib.epu.chipy.registry import converter

if TYPE_CHECKING:
    from opencgc import Value
    from tvm.contrib.epu.chipy.call import Call


@converter("aten._native_batch_norm_legit_no_training.default")
def convert(call: Call) -> Value:
    """Refuse a BatchNorm: folding or quantize_model takes it away."""
    raise QuantizationError(
        "a BatchNorm was never folded",
        layer=call.layer,
        op=call.op,
        setting="fold_batchnorm",
        found="nn.BatchNorm in the traced model",
        wanted="no BatchNorm",
        cure="call fold_batchnorm(model) before quantize_model(model, config)",
    )
