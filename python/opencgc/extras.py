# SPDX-License-Identifier: Apache-2.0
"""Says how to install what a package needs beyond a plain installation (the extras of setup.cfg).

`pip install .` alone brings the compiler; the PyTorch side asks here first, so that its absence is an error
with a cure and not the ModuleNotFoundError of some inner file.
"""

from __future__ import annotations

from importlib.util import find_spec

from opencgc.errors import FileError


class MissingPackageError(FileError, ImportError):
    """A package that is not installed; an ImportError too, for those who try the import."""


def require(package: str, extra: str, *needed: str) -> None:
    """Raise MissingPackageError unless every needed module is installed; the extra brings them."""
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"{package} needs what a plain installation leaves out",
            setting=extra,
            found=f"no {' and no '.join(missing)}",
            wanted=", ".join(needed),
            cure=f'pip install -e ".[{extra}]" in the folder of the sources',
        )
