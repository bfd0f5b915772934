# SPDX-License-Identifier: Apache-2.0
"""Guest programs that clang cross-compiles, on the simulator.

The same C text must give the same result natively, on the simulator and, where installed, on qemu-riscv32;
races, deadlocks and faults must name the lines of the program.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "tests" / "insns"
EXIT, ILLEGAL, ACCESS, DEADLOCK = 1, 2, 3, 4
OCM, LRM, DDR = 1, 2, 0
CROSS = [
    "-target",
    "riscv32-freestanding-none",
    "-mcpu=generic_rv32+m+f-c-a-d",
    "-mabi=ilp32f",
    "-fomit-frame-pointer",
    "-ffreestanding",
    "-ffp-contract=off",
    "-fno-sanitize=undefined",
    "-Wall",
    "-Wextra",
    "-Werror",
]
NATIVE = ["-O2", "-std=c11", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]


def run(command: list[str], **kwargs: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def build() -> Path:
    """The CMake build folder with iss_run and the generated headers."""
    folder = Path(os.environ.get("CGC_BUILD", ROOT / "build" / "c"))
    if not (folder / "build.ninja").exists():
        run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"])
    run(["cmake", "--build", str(folder), "--target", "iss_run"])
    return folder


@pytest.fixture(scope="session")
def includes(build: Path) -> list[str]:
    return [f"-I{p}" for p in (build / "gen", ROOT / "ccl", ROOT / "ccl" / "epu", ROOT / "iss")]


@pytest.fixture(scope="session")
def cross(build: Path, includes: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """cross(sources, *flags) -> ELF file"""
    pytest.importorskip("ziglang", reason="the cross compiler (PyPI package ziglang) is not installed")
    folder = tmp_path_factory.mktemp("elf")
    env = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(build / "zig-cache")}

    def compile_elf(sources: list[str], *flags: str, link: bool = True) -> Path:
        out = folder / f"{len(list(folder.iterdir()))}.elf"
        files = [str(HERE / s) for s in sources]
        script = ["-T", str(HERE / "link.ld")] if link else []
        zig = [sys.executable, "-m", "ziglang", "cc"]
        files.insert(0, str(HERE / "start.S"))
        run([*zig, *CROSS, *includes, *flags, *script, *files, "-o", str(out)], env=env)
        return out

    return compile_elf


@pytest.fixture(scope="session")
def simulate(build: Path) -> Any:
    def simulated(elf: Path, *options: str) -> dict[str, Any]:
        return json.loads(run([str(build / "iss_run"), *options, str(elf)]))

    return simulated


def native(sources: list[str], flags: list[str], folder: Path) -> str:
    binary = folder / "native"
    compiler = os.environ.get("CC", "cc")
    run([compiler, *NATIVE, *flags, *[str(HERE / s) for s in sources], "-o", str(binary), "-lm"])
    return str(binary)


def line_of(source: str, text: str, nth: int = 0) -> int:
    lines = [i for i, line in enumerate((HERE / source).read_text().splitlines(), 1) if text in line]
    return lines[nth]


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
def test_ordinary_c_gives_the_native_result(level: str, cross: Any, simulate: Any, tmp_path: Path) -> None:
    wanted = 0
    for shift in (0, 8, 16, 24):
        binary = native(["mix.c"], [f"-DHASH_SHIFT={shift}"], tmp_path)
        wanted |= subprocess.run([binary], check=False).returncode << shift
    got = simulate(cross(["mix.c"], level))
    assert got["reason"] == EXIT, got["message"]
    assert got["code"] == wanted


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_qemu_gives_the_same_result(level: str, cross: Any, simulate: Any) -> None:
    qemu = shutil.which("qemu-riscv32")
    if qemu is None:
        pytest.skip("qemu-riscv32 (Debian package qemu-user) is not installed")
    wanted = 0
    for shift in (0, 8, 16, 24):
        elf = cross(["mix.c"], level, f"-DHASH_SHIFT={shift}")
        assert simulate(elf)["reason"] == EXIT
        wanted |= subprocess.run([qemu, str(elf)], check=False).returncode << shift
    assert simulate(cross(["mix.c"], level))["code"] == wanted


def test_array_program_gives_the_hosts_bytes(
    cross: Any, simulate: Any, includes: list[str], build: Path, tmp_path: Path
) -> None:
    body = str(ROOT / "ccl" / "epu" / "ccl_epu_host.c")
    wanted = int(run([native(["conv.c", "conv_host.c", body], includes, tmp_path)]))
    elf = cross(["conv.c", "conv_guest.c"], "-O2")
    for array in ("4", "7", "16"):  # more PEs than pixels of a tile change nothing
        got = simulate(elf, "--set", f"array_size={array}", "--race")
        assert (got["reason"], got["code"], got["races"]) == (EXIT, wanted, [])
        assert got["macs"] == int(array) ** 2 * 9 * 16 * 72


@pytest.mark.parametrize("dwarf", ["-gdwarf-4", "-gdwarf-5"])
@pytest.mark.parametrize(
    "removed",
    [
        ("WITHOUT_WAIT_SUMS", "ccl_mac_weights_first(", "ccl_ald_window(", LRM),
        ("WITHOUT_WAIT_RESULT", "ccl_rqs(", "ccl_ast(", LRM),
        ("WITHOUT_WAIT_DONE", "ccl_dmo(", "hash = (hash ^", DDR),
    ],
)
def test_race_names_both_lines(
    removed: tuple[str, str, str, int], dwarf: str, cross: Any, simulate: Any
) -> None:
    missing, first, second, space = removed
    got = simulate(
        cross(["conv.c", "conv_guest.c"], "-O2", dwarf, f"-D{missing}"), "--race", "--set", "array_size=4"
    )
    assert got["reason"] == EXIT, got["message"]
    assert got["races"], "no race found"
    place_a, place_b, where = got["races"][0]
    assert where == space
    assert f"(conv.c:{line_of('conv.c', first)})" in place_a
    assert f"(conv.c:{line_of('conv.c', second)})" in place_b


def test_every_removed_wait_leaves_values_alone(cross: Any, simulate: Any) -> None:
    """Function happens in program order: a race changes no value, which is why the detector is needed."""
    whole = simulate(cross(["conv.c", "conv_guest.c"], "-O2"), "--set", "array_size=4")["code"]
    for missing in ("WITHOUT_WAIT_SUMS", "WITHOUT_WAIT_RESULT", "WITHOUT_WAIT_DONE"):
        got = simulate(cross(["conv.c", "conv_guest.c"], "-O2", f"-D{missing}"), "--set", "array_size=4")
        assert got["code"] == whole


def test_deadlock_names_its_line(cross: Any, simulate: Any) -> None:
    got = simulate(cross(["conv.c", "conv_guest.c"], "-O2", "-g", "-DDEADLOCK"), "--set", "array_size=4")
    assert got["reason"] == DEADLOCK
    assert got["layer"] == 1
    assert got["symbol"] == "run_conv"
    assert "no earlier post" in got["message"]
    assert f"(conv.c:{line_of('conv.c', 'ccl_wait(CCL_DMO, STORED, 100)')})" in got["message"]


def test_fault_names_its_line(cross: Any, simulate: Any) -> None:
    # A tile of 16 lanes on 9 PEs.
    got = simulate(cross(["conv.c", "conv_guest.c"], "-O2", "-g"), "--set", "array_size=3")
    assert got["reason"] == ILLEGAL
    line = line_of("conv.c", "ccl_ald_window(")
    assert re.search(rf"more lanes than PEs .*\(conv\.c:{line}\)", got["message"])


def test_program_without_lines_names_its_function(cross: Any, simulate: Any) -> None:
    got = simulate(cross(["conv.c", "conv_guest.c"], "-O2", "-g0", "-DDEADLOCK"), "--set", "array_size=4")
    assert got["symbol"] == "run_conv"
    assert "run_conv+0x" in got["message"]
    assert ".c:" not in got["message"]


def test_wrong_memory_map_is_refused(cross: Any, build: Path) -> None:
    elf = cross(["mix.c"], "-O1", link=False)
    done = subprocess.run([str(build / "iss_run"), str(elf)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "outside the memory map" in done.stderr
    assert "link.ld" in done.stderr
