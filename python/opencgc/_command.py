# SPDX-License-Identifier: Apache-2.0
"""The console script `cgc`: the wheel's compiled command, told of this Python's cross compiler."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command_path() -> Path:
    """Return the compiled command, which lies beside the compiled module."""
    import opencgc._cgc as binding

    return Path(binding.__file__).parent / "bin" / "cgc"


def main() -> None:
    """Become the compiled command."""
    from opencgc.program import name_cross_compiler

    path = str(command_path())
    name_cross_compiler()
    os.execv(path, [path, *sys.argv[1:]])  # noqa: S606 - our own binary, arguments unchanged
