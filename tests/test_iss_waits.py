# SPDX-License-Identifier: Apache-2.0
"""One wait at a time removed from an emitted program: what the race detector then reports.

The detector looks at order, not at times, so a program without a report is right at any timing. A removal
without a report is therefore harmless, and the untouched run says why: the wait ordered nothing that was not
ordered before (never run, or implied by other waits), or what it ordered touches no byte in common.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")

ROOT = Path(__file__).resolve().parent.parent
HW = {"array_size": 4, "macs_per_pe": 8, "lrm_size": 1024, "ocm_size": 32768}
EXIT = 1


@pytest.fixture(scope="module")
def build() -> Path:
    folder = Path(os.environ.get("CGC_BUILD", ROOT / "build" / "c"))
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"], check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "iss_run", "cgc_cli"], check=True)
    return folder


def small_network(path: Path) -> None:
    """quantize, two convolutions, a residual add, max-pool, dequantize."""
    rng = np.random.default_rng(3)
    b = opencgc.GraphBuilder()
    conv = (
        "padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3], bias_fusion=True, x_zero_point={x_zp}, "
        "x_scale={x}f, w_zero_point=0, w_scale=0.01f, y_zero_point=3, y_scale=0.07f"
    )

    def constants(channels: int) -> list[Any]:
        weight = rng.integers(-128, 128, (16, channels, 3, 3)).astype(np.int8)
        return [b.constant(weight), b.constant(rng.integers(-900, 900, 16).astype(np.int32))]

    q = b.node("qnn.quantize", [b.input("x", (1, 3, 12, 12))], "0.02f, -5")
    first = b.node(
        "contrib.epu.qlinear_conv2d", [q, *constants(3)], conv.format(x=0.02, x_zp=-5), "net.conv1"
    )
    second = b.node(
        "contrib.epu.qlinear_conv2d", [first, *constants(16)], conv.format(x=0.07, x_zp=3), "net.conv2"
    )
    add = b.node(
        "qnn.add",
        [first, second],
        "a_scale=0.07f, a_zero_point=3, b_scale=0.07f, b_zero_point=3, y_scale=0.1f, y_zero_point=0",
        "net.add",
    )
    pool = b.node("nn.max_pool2d", [add], "pool_size=[2, 2], strides=[2, 2]", "net.pool")
    b.finish([b.node("qnn.dequantize", [pool], "0.1f, 0")]).save(path)


@pytest.fixture(scope="module")
def report(build: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("ziglang", reason="the cross compiler (PyPI package ziglang) is not installed")
    folder = tmp_path_factory.mktemp("waits")
    small_network(folder / "net.cgc")
    settings = [word for k, v in HW.items() for word in ("--set", f"{k}={v}")]
    cgc = [
        str(build / "cgc"),
        "compile",
        str(folder / "net.cgc"),
        "-o",
        str(folder),
        "--name",
        "net",
        *settings,
    ]
    subprocess.run(cgc, check=True)
    env = {
        **os.environ,
        "PYTHON": sys.executable,
        "ZIG_GLOBAL_CACHE_DIR": str(build / "zig-cache"),
    }
    subprocess.run(["sh", "build.sh", "epu"], cwd=folder / "net", env=env, check=True)
    elf = folder / "net" / "build" / "net.elf"
    done = subprocess.run(
        [str(build / "iss_run"), "--waits", *settings, str(elf)], check=True, capture_output=True, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def why(wait: dict[str, Any]) -> str:
    if wait["races"]:
        return "race"
    if wait["runs"] == 0:
        return "never run"
    return "implied by other waits" if wait["ordering"] == 0 else "no byte in common"


def test_untouched_program_has_no_race(report: dict[str, Any]) -> None:
    assert report["reason"] == EXIT, report["message"]
    assert report["races"] == []


def test_each_removed_wait_is_explained(report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    waits = report["waits"]
    with capsys.disabled():
        print()
        for w in waits:
            places = f": {w['races'][0][0]} and {w['races'][0][1]}" if w["races"] else ""
            print(f"{w['place']:45} {why(w)}{places}")
    assert all(w["reason"] == EXIT for w in waits)
    harmful = [w for w in waits if w["races"]]
    assert len(harmful) >= 10
    place = re.compile(r"\(\w+\.c:\d+\)$")
    for w in harmful:
        # Only a wait that ordered something can leave a race behind.
        assert w["ordering"] > 0, w["place"]
        for first, second, _ in w["races"]:
            assert place.search(first), first
            assert place.search(second), second
