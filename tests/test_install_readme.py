# SPDX-License-Identifier: Apache-2.0
"""The README's Python runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_snippet_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    scope: dict[str, object] = {}
    exec(compile(snippet, "README.md", "exec"), scope)  # noqa: S102 - our own text
    printed = capsys.readouterr().out
    assert "contrib.epu.qlinear_conv2d" in printed
    assert scope["graph"].prove(scope["image"]).differing == 0
    assert (tmp_path / "small.cgc").exists()
