# SPDX-License-Identifier: Apache-2.0
"""The compiler's entry: codegen.build_relay under a target and the attributes of util."""

import tvm
from opencgc.namecheck import refuse_other_tvm

refuse_other_tvm(tvm.__path__)  # as in tvm.contrib.epu: the other door
