# SPDX-License-Identifier: Apache-2.0
"""build_relay: an exported graph becomes a program on disk, for the current target."""

from __future__ import annotations

import os

from opencgc import ChimeraModule, Graph
from opencgc.errors import ArgumentError
from opencgc.program import DEFAULT_BUILD_PATH
from tvm.relay.backend.contrib.epu.util import active_build_path, build_path_or_default
from tvm.target import EpuTarget

# Where the last build of each module name went, so that the path helpers are right outside of the `with` too.
_last_build_path: dict[str, str] = {}


def build_relay(mod: Graph, module_name: str = "main") -> ChimeraModule:
    """Compile a graph for the current target into <build_path>/<module_name>/ and return the module."""
    if not isinstance(mod, Graph):
        raise ArgumentError(
            "build_relay compiles a graph",
            setting="mod",
            found=type(mod).__name__,
            wanted="what tvm.contrib.epu.chipy.export() or opencgc.load() returns",
        )
    path = build_path_or_default()
    module = mod.compile(module_name, EpuTarget.current().hw, path)
    _last_build_path[module_name] = path
    return module


def get_module_source_path(module_name: str) -> str:
    """Return the folder of a module's generated program."""
    path = active_build_path() or _last_build_path.get(module_name, DEFAULT_BUILD_PATH)
    return os.path.join(path if os.path.isabs(path) else os.path.join(".", path), module_name)  # noqa: PTH117, PTH118


def get_module_build_path(module_name: str) -> str:
    """Return the folder of what is built from a module, inside its source folder."""
    return os.path.join(get_module_source_path(module_name), "build")  # noqa: PTH118 - keeps the leading ./
