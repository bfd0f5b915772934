# SPDX-License-Identifier: Apache-2.0
"""Every operator case on every engine: the same bytes everywhere, and equal to the independent reference."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
import reference
from op_cases import Array, Case, all_files, load_cases

opencgc = pytest.importorskip("opencgc")

ROOT = pathlib.Path(__file__).parent.parent
ENGINES = ["host:ref", "host", "epu_host", "iss:race"]
MAX_GRAPH_EDGES = 16  # inputs or outputs of one program
# A machine on which little fits, so that the same cases need tiles and chunks.
SMALL = {"array_size": 4, "macs_per_pe": 4, "lrm_size": 1024, "num_acc": 8, "ocm_size": 262144}
FILES = all_files()
CASES = [pytest.param(case, id=f"{path.stem}: {case.name}") for path in FILES for case in load_cases(path)]


def listed_operators() -> dict[str, str]:
    text = (ROOT / "src" / "ops" / "ops.def").read_text("utf-8")
    return dict(re.findall(r'^OP\((\w+),\s*"([^"]+)"', text, re.MULTILINE))


def expected(case: Case) -> Array:
    return reference.evaluate(case.op, case.own_operands, case.attr_values)[0]


def assert_same(found: Array, wanted: Array, what: str) -> None:
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), what
    size = found.dtype.itemsize
    differ = (found.reshape(-1).view(f"u{size}") != wanted.reshape(-1).view(f"u{size}")).nonzero()[0]
    if differ.size:
        i = differ[0]
        index = [int(v) for v in np.unravel_index(i, found.shape)]
        pytest.fail(
            f"{what}: {differ.size} of {found.size} differ, first at {index}: "
            f"{found.reshape(-1)[i]} instead of {wanted.reshape(-1)[i]}"
        )


def test_every_operator_has_cases_and_a_reference() -> None:
    names = listed_operators()
    assert {path.stem for path in FILES} == set(names)
    for c_name, name in names.items():
        assert reference.c_name(name) == c_name
        assert reference.has_reference(name)
        assert load_cases(ROOT / "tests" / "ops" / f"{c_name}.toml")[0].op == name


@pytest.mark.parametrize("case", CASES)
def test_eval_equals_reference(case: Case) -> None:
    own = [x for x in case.own_operands if x is not None]
    tensors = [o.data for i, o in enumerate(case.operands) if i in case.tensor_attrs]
    found = opencgc.eval_op(case.op, case.attrs, own + tensors)[0]
    assert_same(found, expected(case), "eval_op")


def add_case(builder: opencgc.GraphBuilder, case: Case, number: int, feed: dict[str, Array]) -> opencgc.Value:
    """Adds one node with its own graph inputs; constants stay constants."""
    values = []
    for i, operand in enumerate(case.operands):
        if operand.const:
            values.append(builder.constant(operand.data))
            continue
        name = f"x{number}_{i}"
        values.append(builder.input(name, operand.data.shape, operand.data.dtype.name))
        feed[name] = operand.data
    attrs = re.sub(r"input\[(\d+)\]", lambda found: str(values[int(found[1])].reference), case.attrs)
    own = [v for i, v in enumerate(values) if i not in case.tensor_attrs]
    return builder.node(case.op, own, attrs, f"case.{number}")


def programs(cases: list[Case]) -> list[list[Case]]:
    """As many cases in one program as its inputs and outputs allow: each program costs a compilation."""
    groups: list[list[Case]] = [[]]
    edges = 0
    for case in cases:
        n = sum(not operand.const for operand in case.operands)
        if edges + n > MAX_GRAPH_EDGES:
            groups.append([])
            edges = 0
        groups[-1].append(case)
        edges += n
    return groups


def run_engines(cases: list[Case], hw: opencgc.HWConfig, engines: list[str]) -> None:
    builder, feed = opencgc.GraphBuilder(), {}
    outputs = [add_case(builder, case, i, feed) for i, case in enumerate(cases)]
    graph = builder.finish(outputs)
    wanted = [expected(case) for case in cases]
    proof = graph.prove(feed, engines, hw=hw)
    assert proof.differing == 0, proof.text
    for engine in ["interp", *engines]:
        found = graph.run(feed, engine=engine, hw=hw)
        for case, array, right in zip(cases, found.values(), wanted, strict=True):
            assert_same(array, right, f"{engine}, case '{case.name}'")


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_engines_equal_reference(path: pathlib.Path) -> None:
    for cases in programs(load_cases(path)):
        run_engines(cases, opencgc.HWConfig(), ENGINES)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_small_machine_equals_reference(path: pathlib.Path) -> None:
    for cases in programs(load_cases(path)):
        run_engines(cases, opencgc.HWConfig(**SMALL), ["iss:race"])
