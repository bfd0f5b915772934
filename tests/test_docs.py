# SPDX-License-Identifier: Apache-2.0
"""The documentation names only files, folders and functions that exist, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "ccl/README.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]
# Folders in which the pages name files without the folder (CONTRIBUTING.md and docs/architecture.md say so).
BASES = ["", "python", "python/tvm/contrib/epu", "python/quadric_pyquant"]
MADE = (".venv/", "build/", "kernels/", "insns/")  # what ./test makes, and folders of an emitted program
PLANNED = "## How later things fit"  # this chapter names files that do not exist yet

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not here")


def words(page: str) -> list[str]:
    """What stands in backticks on a page, blocks of code and plans for later left out."""
    text = (ROOT / page).read_text("utf-8").partition(PLANNED)[0]
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def find(page: str, path: str) -> list[Path]:
    """Return files and folders that a name with <placeholders> or * can mean."""
    pattern = re.sub(r"<\w+>|\*", "*", path).rstrip("/")
    bases = [*BASES, Path(page).parent.as_posix()]
    return [found for base in bases for found in (ROOT / base).glob(pattern)]


@pytest.mark.parametrize("page", PAGES)
def test_files_and_functions_exist(page: str) -> None:
    wrong = []
    for word in words(page):
        named = re.fullmatch(r"([\w.<>*-]+/[\w./<>*-]*|[\w/]+\.py)(?::([\w.]+))?", word)
        if not named or named[1].startswith(MADE):
            continue
        files, function = find(page, named[1]), (named[2] or "").split(".")[-1]
        if not files or (function and not any(function in file.read_text("utf-8") for file in files)):
            wrong.append(word)
    assert wrong == []


@pytest.fixture(scope="module")
def known() -> set[str]:
    """All words of the sources, and the names of their files."""
    known: set[str] = set()
    for folder in ("include", "src", "iss", "isa", "ccl", "python", "tests", "cmake", "examples", "bench"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in {".c", ".h", ".def", ".py", ".cmake", ".toml"}:
                known |= {file.stem, *re.findall(r"\w+", file.read_text("utf-8"))}
    return known


@pytest.mark.parametrize("page", PAGES)
def test_names_exist(page: str, known: set[str]) -> None:
    """Names with an underscore are functions, types, fields or settings."""
    named = {name for word in words(page) for name in re.findall(r"(?<![<\w])[A-Za-z]\w*_\w+(?!\w*>)", word)}
    assert sorted(named - known) == []


def test_every_page_can_be_reached() -> None:
    reached, todo = set(), ["README.md"]
    while todo:
        page = todo.pop()
        reached.add(page)
        text = (ROOT / page).read_text("utf-8")
        todo += [other for other in PAGES if other not in reached and other not in todo and other in text]
    assert sorted(set(PAGES) - reached) == []
