# SPDX-License-Identifier: Apache-2.0
"""The emitted host program under several compilers and flags: no warning, same bytes, wrong modes refused."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")

TEXT = """def @main(%x: Tensor[(1, 3, 12, 10), float32]) {
  %0 = qnn.quantize(%x, 0.02f, -5, out_dtype="int8");
  %1 = contrib.epu.qlinear_conv2d(%0, meta[relay.Constant][0], padding=[1, 1, 1, 1], channels=40,
         kernel_size=[3, 3], out_dtype="int8", bias_fusion=False, x_zero_point=-5, x_scale=0.02f,
         w_zero_point=0, w_scale=0.004f, y_zero_point=3, y_scale=0.05f);
  %2 = contrib.epu.qlinear_conv2d(%1, meta[relay.Constant][1], padding=[1, 1, 1, 1], channels=40,
         kernel_size=[3, 3], out_dtype="int8", bias_fusion=False, x_zero_point=3, x_scale=0.05f,
         w_zero_point=0, w_scale=0.002f, y_zero_point=0, y_scale=0.05f);
  %3 = qnn.add(%2, %1, a_scale=0.05f, a_zero_point=0, b_scale=0.05f, b_zero_point=3, y_scale=0.07f,
         y_zero_point=-9);
  qnn.dequantize(%3, 0.07f, -9)
}
"""
STRICT = "-Wall -Wextra -Werror -pedantic"


def compilers() -> list[str]:
    found = [name for name in ("gcc", "clang") if shutil.which(name)]
    try:
        import ziglang  # noqa: F401
    except ImportError:
        return found
    return [*found, f"{sys.executable} -m ziglang cc"]


@pytest.fixture(scope="module")
def graph() -> Any:
    rng = np.random.default_rng(1)
    shapes = ((40, 3, 3, 3), (40, 40, 3, 3))
    return opencgc.Graph.parse(TEXT, [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes])


def variants(module: Any) -> list[str]:
    files = Path(module.source_path).glob("*_host_*.c")
    names = ["host:ref", *(f"host:{file.stem.rpartition('_')[2]}" for file in files)]
    flags = Path("/proc/cpuinfo").read_text("utf-8").split() if Path("/proc/cpuinfo").exists() else []
    return [name for name in names if not name.endswith("vnni") or "avx512_vnni" in flags]


@pytest.mark.parametrize("flags", ["", "-O0", "-O2 -march=native"])
@pytest.mark.parametrize("cc", compilers(), ids=lambda cc: "zig" if "ziglang" in cc else cc)
def test_same_bytes(graph: Any, cc: str, flags: str, tmp_path: Path, rng: np.random.Generator) -> None:
    module = graph.compile("net", build_path=tmp_path)
    x = {"x": rng.uniform(-3, 3, (1, 3, 12, 10)).astype(np.float32)}
    wanted = graph.run(x)["out_0"]
    module.build("host", cc, f"{flags} {STRICT}")
    for engine in variants(module):
        np.testing.assert_array_equal(module.run(x, engine)["out_0"], wanted, err_msg=engine)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="flags of x86")
@pytest.mark.parametrize("flags", ["-mfma -ffp-contract=fast", "-ffast-math"])
def test_wrong_modes_are_refused(graph: Any, flags: str, tmp_path: Path) -> None:
    module = graph.compile("net", build_path=tmp_path)
    module.build("host", "", flags)
    with pytest.raises(opencgc.Error, match="floating-point environment"):
        module.run({"x": np.zeros((1, 3, 12, 10), np.float32)}, "host:ref")


@pytest.mark.parametrize("what", ["host", "iss", "epu_host"])
def test_own_flags_give_no_warning(graph: Any, what: str, tmp_path: Path) -> None:
    """With the optimisation of build.sh: what is inlined shows more to the compiler's warnings."""
    module = graph.compile("net", build_path=tmp_path)
    for cc in [""] if what == "iss" else compilers():
        module.build(what, cc, STRICT)


@pytest.mark.parametrize("name", ["ccl", "border", "environment", "stdint", "int", "kernels"])
def test_names_of_other_files(graph: Any, name: str, tmp_path: Path) -> None:
    """A module's header may have the name of a kernel's or of the C library's."""
    module = graph.compile(name, build_path=tmp_path)
    x = {"x": np.ones((1, 3, 12, 10), np.float32)}
    wanted = graph.run(x)["out_0"]
    for engine in ("host", "epu_host"):
        np.testing.assert_array_equal(module.run(x, engine)["out_0"], wanted)


def test_command(graph: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    module = graph.compile("net", build_path=tmp_path)
    module.build("host")
    x = rng.uniform(-3, 3, (1, 3, 12, 10)).astype(np.float32)
    (tmp_path / "x.bin").write_bytes(x.tobytes())
    command = [f"{module.build_path}/net_host", f"{module.source_path}/weights_host.bin", "x.bin", "y.bin"]
    subprocess.run(command, check=True, cwd=tmp_path)
    wanted = graph.run({"x": x})["out_0"]
    assert (tmp_path / "y.bin").read_bytes() == wanted.tobytes()
    failed = subprocess.run(
        [*command[:2], "y.bin", "x.bin"], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert failed.returncode == 1
    assert "y.bin: not a file of 1440 bytes" in failed.stderr
