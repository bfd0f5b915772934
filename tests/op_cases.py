# SPDX-License-Identifier: Apache-2.0
"""Reads tests/ops/<c_name>.toml: op = "IR name", then [[case]] tables with

name    unique in the file
inputs  operands in order, then tensors that attributes name as input[i]; each "[const] dtype[dims] [fill]",
        where fill is "lo..hi" (uniform; int8 default: the whole range), "all" (int8: -128..127 over and
        over) or "edges" (float32: NaN, infinities, zeros, ties, tiny, huge, then random)
attrs   attribute text as the IR prints it

Data comes from the names alone, so every run and every machine has the same.
"""

from __future__ import annotations

import pathlib
import re
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from reference.attrs import parse_attrs

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef,import-not-found,unused-ignore]

Array = npt.NDArray[Any]
FOLDER = pathlib.Path(__file__).parent / "ops"
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.25, -0.25, 0.75, -0.75, 1.25, 1.75, -1.25]
EDGES += [62.0, 62.25, -65.5, -65.75]
EDGES += [1e-45, -1e-45, 1e-38, 3e38, -3e38, 2097151.75, 4194304.5, 8388609.0, 16777217.0]
_INPUT = re.compile(r"(const )?(\w+)\[([\d,]*)\]\s*(.*)")


@dataclass(frozen=True)
class Operand:
    const: bool
    data: Array


@dataclass(frozen=True)
class Case:
    op: str
    name: str
    operands: list[Operand]
    attrs: str

    @property
    def attr_values(self) -> dict[str, Any]:
        return parse_attrs(self.attrs, lambda _, i: self.operands[i].data)

    @property
    def tensor_attrs(self) -> set[int]:
        """Numbers of the inputs that only attributes name."""
        return {int(i) for i in re.findall(r"input\[(\d+)\]", self.attrs)}

    @property
    def own_operands(self) -> list[Array | None]:
        return [o.data for i, o in enumerate(self.operands) if i not in self.tensor_attrs]


def _fill(dtype: str, shape: tuple[int, ...], fill: str, rng: np.random.Generator) -> Array:
    size = int(np.prod(shape))
    if fill == "all":
        return (np.arange(size) % 256 - 128).astype(dtype).reshape(shape)
    if fill == "edges":
        values = rng.uniform(-9, 9, size)
        values[: len(EDGES)] = EDGES[:size]
        return values.astype(dtype).reshape(shape)
    low, high = (float(v) for v in fill.split("..")) if fill else (-128.0, 127.0)
    if dtype == "float32":
        return rng.uniform(low, high, shape).astype(dtype)
    return rng.integers(int(low), int(high) + 1, shape).astype(dtype)


def _operand(text: str, rng: np.random.Generator) -> Operand:
    found = _INPUT.fullmatch(text)
    if not found:
        raise ValueError(f"cannot read operand {text!r}")
    const, dtype, dims, fill = found.groups()
    shape = tuple(int(d) for d in dims.split(",") if d)
    return Operand(bool(const), _fill(dtype, shape, fill, rng))


def load_cases(path: pathlib.Path) -> list[Case]:
    table = tomllib.loads(path.read_text("utf-8"))
    cases = []
    for case in table["case"]:
        rng = np.random.default_rng(zlib.crc32(f"{table['op']} {case['name']}".encode()))
        operands = [_operand(text, rng) for text in case["inputs"]]
        cases.append(Case(table["op"], case["name"], operands, case.get("attrs", "")))
    return cases


def all_files() -> list[pathlib.Path]:
    return sorted(FOLDER.glob("*.toml"))
