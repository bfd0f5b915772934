# SPDX-License-Identifier: Apache-2.0
"""Fills the dynamic fields of pyproject.toml while a wheel is made.

Version from project() in CMakeLists.txt, extras from [options.extras_require] in setup.cfg: each stands in
one place only. scikit-build-core calls dynamic_metadata with the project's root as working directory.
"""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent


def read_version(cmake_lists: Path) -> str:
    """Return the VERSION of project() in a CMakeLists.txt."""
    text = cmake_lists.read_text("utf-8")
    match = re.search(r"^project\([^)]*\bVERSION\s+([0-9][0-9.]*)", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"{cmake_lists}: project() has no VERSION")
    return match.group(1)


def read_extras(setup_cfg: Path) -> dict[str, list[str]]:
    """Return {extra: requirements} of [options.extras_require] in a setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(setup_cfg.read_text("utf-8"))
    return {
        extra: [line.strip() for line in text.splitlines() if line.strip()]
        for extra, text in parser["options.extras_require"].items()
    }


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """Return the version and the extras (scikit-build-core's provider interface)."""
    del settings, project
    return {
        "version": read_version(ROOT / "CMakeLists.txt"),
        "optional-dependencies": read_extras(ROOT / "setup.cfg"),
    }
