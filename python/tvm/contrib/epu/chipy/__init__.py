# SPDX-License-Identifier: Apache-2.0
"""ChiPy, the PyTorch front end: export() traces a quantized model and returns a Graph.

aten/ holds one converter per ATen overload, modules/ one per layer type of quadric_pyquant.
"""

from tvm.contrib.epu.chipy.export import export
from tvm.contrib.epu.chipy.options import options
from tvm.contrib.epu.chipy.tensor import Tensor

__all__ = ["Tensor", "export", "options"]
