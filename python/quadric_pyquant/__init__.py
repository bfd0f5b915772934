# SPDX-License-Identifier: Apache-2.0
"""Post-training int8 quantization of PyTorch models, with the arithmetic of the compiler.

The functions live in quadric_pyquant.model_conversion and quadric_pyquant.calibration; README.md shows
their order. A frozen model's forward calls the same C kernels as the compiled program: its values are the
program's values.
"""

from opencgc.extras import require

require("quadric_pyquant", "qq-core", "torch", "tqdm")
