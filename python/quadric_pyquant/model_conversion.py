# SPDX-License-Identifier: Apache-2.0
"""Names to change a float model into an int8 one, in the order of their use.

fold_batchnorm -> generate_quant_config -> quantize_model -> (calibration.run_calibration) ->
freeze_model_weights -> validate_model_export_ready. Every function works on the model in place.
"""

from quadric_pyquant.convert import generate_quant_config, quantize_model
from quadric_pyquant.fold import fold_batchnorm
from quadric_pyquant.freeze import freeze_model_weights
from quadric_pyquant.validate import validate_model_export_ready

__all__ = [
    "fold_batchnorm",
    "freeze_model_weights",
    "generate_quant_config",
    "quantize_model",
    "validate_model_export_ready",
]
