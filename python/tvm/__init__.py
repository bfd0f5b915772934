# SPDX-License-Identifier: Apache-2.0
"""The names of the compiler's Relay entry: thin, all work is done by opencgc.

Not Apache TVM: PyPI's apache-tvm owns a folder of this name too, so the two cannot share an environment.
"""

from opencgc.namecheck import refuse_other_tvm

refuse_other_tvm(__path__)

from tvm import contrib, relay, target  # noqa: E402 - only once nothing else is in the way

__all__ = ["contrib", "relay", "target"]
