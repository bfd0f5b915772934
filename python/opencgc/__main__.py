# SPDX-License-Identifier: Apache-2.0
"""`python -m opencgc`: what is installed, and where; everything else is the command `cgc`."""

from __future__ import annotations

import argparse
import importlib.util

import opencgc
from opencgc._command import command_path
from opencgc.namecheck import refuse_other_tvm


def main() -> None:
    """Print the version, the parts found and where the command lies."""
    parser = argparse.ArgumentParser(prog="python -m opencgc", description=__doc__)
    parser.add_argument("--version", action="version", version=opencgc.__version__)
    parser.parse_args()
    refuse_other_tvm()
    print(f"opencgc {opencgc.__version__}: {len(opencgc.op_names())} operators")
    print(f"hardware presets: {', '.join(opencgc.HWConfig.presets())}")
    print(f"cgc command: {command_path()}")
    for name, use in (("torch", "PyTorch models"), ("ziglang", "programs for the simulator")):
        state = "found" if importlib.util.find_spec(name) else "missing: pip install 'opencgc[qq-core]'"
        print(f"{name} ({use}): {state}")


if __name__ == "__main__":
    main()
