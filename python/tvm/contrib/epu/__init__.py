# SPDX-License-Identifier: Apache-2.0
"""tvm.contrib.epu: HWConfig, every hardware parameter with named presets; chipy, the PyTorch front end."""

import tvm
from opencgc.namecheck import refuse_other_tvm

# Here once more: when the other TVM was installed last, tvm/__init__.py is its file and did not look.
refuse_other_tvm(tvm.__path__)

from opencgc.hw import HWConfig  # noqa: E402

__all__ = ["HWConfig"]
