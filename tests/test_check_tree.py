# SPDX-License-Identifier: Apache-2.0
"""tools/check_tree.py finds what it is for, and finds nothing in this tree."""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parent.parent
if not (ROOT / ".git").exists() or shutil.which("git") is None:
    pytest.skip("not a git checkout", allow_module_level=True)


def load(root: pathlib.Path) -> Any:
    """The tool, looking at another tree."""
    spec = importlib.util.spec_from_file_location("check_tree", ROOT / "tools" / "check_tree.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ROOT = root
    return module


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the files that the tool looks at."""
    for name in load(ROOT).tracked_files():
        if (
            pathlib.Path(name).suffix in {".c", ".h", ".def", ".toml", ".ir"}
            or name == "docs/architecture.md"
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    for name in load(ROOT).tracked_files():
        if name.startswith("tests/reference/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    return tmp_path


def findings(root: pathlib.Path) -> list[str]:
    tool = load(root)
    files = tool.tracked_files()
    return [
        *tool.check_includes(files),
        *tool.check_words(files),
        *tool.check_lists(files),
        *tool.check_form(files),
    ]


def test_this_tree_is_clean() -> None:
    """Sizes and columns are left to tools/lint."""
    tool = load(ROOT)
    files = tool.tracked_files()
    assert [*tool.check_includes(files), *tool.check_words(files), *tool.check_lists(files)] == []


BAD = [
    ("src/base/str.c", '#include "ir/ir.h"\n', "src/base/ may not include ir/ir.h"),
    ("src/cli/main.c", '#include "base/base.h"\n', "src/cli/ may not include base/base.h"),
    ("src/ops/relu.c", '#include "plan/plan.h"\n', "src/ops/ may not include plan/plan.h"),
    ("ccl/ref/relu_f32.c", '#include "base/base.h"\n', "ccl/ may not include base/base.h"),
    ("src/run/trace.c", "void f(void)\n{\n    abort();\n}\n", "abort in a library"),
    ("iss/elf.c", "#include <assert.h>\n", "in a library"),
    ("src/ops/ops.def", 'OP(zap, "zap", "")\n', "'zap' has no src/ops/zap.c"),
    ("src/ops/ops.def", 'OP(aaa, "aaa", "")\n', "not sorted"),
    ("src/passes/passes.def", 'PASS(zap, "")\n', "'zap' has no tests/passes/zap/*.ir"),
    ("ccl/kernels.def", 'KERNEL(zap_s8, ref, "")\n', "'zap_s8' has no case in tests/unit/test_kernels.c"),
    ("src/run/trace.c", "/* TO" + "DO */\n", "a TODO without its reason"),
    ("src/run/trace.c", "void f(void)\n{\n" + "    ;\n" * 61 + "}\n", "function of 61 lines"),
    ("src/run/trace.c", "/* " + "x" * 120 + " */\n", "columns, limit 120"),
    ("src/run/trace.c", "\n" * 600, "lines, limit 600"),
]


@pytest.mark.parametrize(("name", "added", "words"), BAD, ids=[words for _, _, words in BAD])
def test_finds(tree: pathlib.Path, name: str, added: str, words: str) -> None:
    path = tree / name
    path.write_text(path.read_text("utf-8") + added, "utf-8")
    new = set(findings(tree)) - set(findings(ROOT))
    assert any(words in line for line in new), new


def test_words_in_comments_and_strings_are_free(tree: pathlib.Path) -> None:
    path = tree / "src/run/trace.c"
    path.write_text(path.read_text("utf-8") + '/* abort() */\nstatic const char *s = "exit(1)";\n', "utf-8")
    assert not any("in a library" in line for line in findings(tree))
