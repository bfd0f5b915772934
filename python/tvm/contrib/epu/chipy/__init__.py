# SPDX-License-Identifier: Apache-2.0
"""ChiPy, the PyTorch front end: export() traces a quantized model and returns a Graph.

aten/ holds one converter per ATen overload, modules/ one per layer type of quadric_pyquant.
"""

from opencgc.extras import require

require("tvm.contrib.epu.chipy", "qq-core", "torch", "tqdm")

from tvm.contrib.epu.chipy.export import export  # noqa: E402 - only once torch is there
from tvm.contrib.epu.chipy.options import options  # noqa: E402
from tvm.contrib.epu.chipy.tensor import Tensor  # noqa: E402

__all__ = ["Tensor", "export", "options"]
