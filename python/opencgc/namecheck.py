# SPDX-License-Identifier: Apache-2.0
"""Refuses to run beside another package that installs the folder `tvm` (PyPI's apache-tvm).

pip does not notice that two distributions own one folder: whichever came last has overwritten the other's
files. So every door looks: `import tvm` when that file is ours, `tvm.contrib.epu` when it is theirs, and
`python -m opencgc` as the check after an installation.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

OTHER_DISTRIBUTIONS = ("apache-tvm", "tvm")
# A folder that every Apache TVM has and this project does not.
OTHER_FOLDER = "runtime"


def find_other_tvm(folders: Iterable[str] = ()) -> str:
    """Return what says that another TVM is here (a distribution or a folder), or ""."""
    for name in OTHER_DISTRIBUTIONS:
        for found in metadata.distributions(name=name):
            return f"distribution {name} {found.version}"
    for folder in folders:
        if (Path(folder) / OTHER_FOLDER).is_dir():
            return f"files of another TVM in {folder}"
    return ""


def refuse_other_tvm(folders: Iterable[str] = ()) -> None:
    """Raise ImportError if another TVM is in this environment."""
    other = find_other_tvm(folders)
    if other:
        raise ImportError(
            f"error[E_NAME] another TVM is in this environment: both it and opencgc own the folder 'tvm'; "
            f"found {other}, wanted only opencgc\n"
            "  cure: pip uninstall apache-tvm, then reinstall opencgc; or use a fresh virtual environment"
        )
