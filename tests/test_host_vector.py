# SPDX-License-Identifier: Apache-2.0
"""The register tile of the AVX-512 VNNI convolution as compilers see it: no accumulator goes through memory.

Tiles are compiled to assembly with each compiler at hand. In the innermost loops that hold vpdpbusd no vector
register may be stored to or loaded from the stack, and each loop must hold one dot product per accumulator
(or a whole multiple, where the compiler unrolls).
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VECTOR = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512vnni"]
FLAGS = ["-O3", "-fPIC", "-std=c99", "-ffp-contract=off", *VECTOR]
PIXELS = (1, 3, 6, 7, 10, 13, 14)
LAYER = """
void tile_{pixels}_{vectors}_{columns}_{sum}(const uint8_t *x, const uint8_t *w, const uint8_t *r, uint8_t *y)
{{
    const ccl_tile tile = {{
        .pixels = {pixels}, .row_pixels = {columns}, .vectors = {vectors}, .channels = 16 * {vectors},
        .x_pixel = 64, .x_row = 3712, .tap_rows = 3, .x_tap_row = 3712, .runs = {runs}, .x_run = 128,
        .steps = {steps}, .y_pixel = 64, .y_row = 3712, .ahead = {ahead},
        .conv = {{.zp = 3, .lo = -128, .hi = 127}},
        .has_sum = {sum}, .r_pixel = 64, .r_row = 3712, .r_zp = -7,
        .sum = {{CCL_SUM_DIVIDE, 0.5f, 0.25f, 0.3f}}, .out = {{.zp = 5, .lo = -100, .hi = 100}},
    }};
    for (int32_t row = 0; row < 56; row++)
        ccl_conv2d_tile(&tile, x + row * 3712, w, r + row * 3712, y + row * 3712);
}}
"""


def compilers() -> list[list[str]]:
    found = [[path] for name in ("gcc", "clang") if (path := shutil.which(name))]
    try:
        import ziglang  # noqa: F401
    except ImportError:
        return found
    return [*found, [sys.executable, "-m", "ziglang", "cc"]]


def source() -> str:
    layers = ['#include "x86_avx512vnni/conv2d_s8.h"\n']
    for pixels in PIXELS:
        for vectors in (1, 2):
            columns = pixels // 2 if pixels % 2 == 0 else pixels
            layers.append(
                LAYER.format(
                    pixels=pixels,
                    vectors=vectors,
                    columns=columns,
                    sum=pixels & 1,
                    runs=1 + (pixels % 3 == 0),
                    steps=6 if pixels == 14 else 48,
                    ahead=8192 if pixels % 4 == 2 else 0,
                )
            )
    return "".join(layers)


def innermost_loops(body: list[str]) -> list[list[str]]:
    """Instructions between a label and a later jump back to it, where no other such pair lies inside."""
    labels = {line.rstrip(":"): i for i, line in enumerate(body) if re.fullmatch(r"\.?L\w+:", line)}
    loops = []
    for i, line in enumerate(body):
        jump = re.match(r"j\w+\s+(\.?L\w+)", line)
        if jump and labels.get(jump[1], i) < i:
            loops.append((labels[jump[1]], i))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return [body[a:b] for a, b in inner]


def functions(assembly: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for raw in assembly.splitlines():
        line = raw.split("#")[0].strip()
        start = re.fullmatch(r"(tile_\w+):", line)
        if start:
            name = start[1]
            found[name] = []
        elif name and line and (not line.startswith(".") or line.endswith(":")):
            found[name].append(line)
    return found


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86 only")
@pytest.mark.parametrize("cc", compilers(), ids=lambda cc: Path(cc[-2] if cc[-1] == "cc" else cc[0]).name)
def test_no_spills(cc: list[str], tmp_path: Path) -> None:
    c_file, s_file = tmp_path / "tiles.c", tmp_path / "tiles.s"
    c_file.write_text(source(), "utf-8")
    subprocess.run([*cc, *FLAGS, f"-I{ROOT / 'ccl'}", "-S", str(c_file), "-o", str(s_file)], check=True)
    found = functions(s_file.read_text("utf-8"))
    assert len(found) == 2 * len(PIXELS)
    for name, body in found.items():
        pixels, vectors = (int(part) for part in name.split("_")[1:3])
        dots = [loop for loop in innermost_loops(body) if any("vpdpbusd" in line for line in loop)]
        assert dots, name
        for loop in dots:
            count = sum("vpdpbusd" in line for line in loop)
            assert count % (pixels * vectors) == 0, name
            spills = [line for line in loop if "mm" in line and re.search(r"\(%r[sb]p", line)]
            assert not spills, (name, spills)
