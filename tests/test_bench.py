# SPDX-License-Identifier: Apache-2.0
"""bench/epu.py on a small network: the row's keys, and every kind of fault in an account is seen."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")
pytest.importorskip("torchvision", reason="the networks of the benchmark come from torchvision")
pytest.importorskip("ziglang", reason="the cross compiler (PyPI package ziglang) is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import epu

KEYS = "model array_size macs_per_pe num_cores ocm_size lrm_size cycles roofline_cycles mac_utilization "
KEYS += "ddr_bytes"
ATTRS = "units=24, x_scale=0.02f, x_zero_point=1, w_scale=0.01f, y_scale=0.05f, y_zero_point=0"


def small_graph():
    b = opencgc.GraphBuilder()
    w = b.constant(np.random.default_rng(1).integers(-128, 128, (24, 40)).astype(np.int8))
    q = b.node("qnn.quantize", [b.input("x", (3, 40))], "0.02f, 1")
    y = b.node("contrib.epu.dense", [q, w], ATTRS, "fc")
    return b.finish([b.node("qnn.dequantize", [y], "0.05f, 0")])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    hw = opencgc.HWConfig(array_size=4)
    graph = small_graph()
    result = epu.measure(graph, "small", hw, tmp_path_factory.mktemp("bench"))
    x = {"x": np.random.default_rng(0).standard_normal((3, 40)).astype(np.float32)}
    graph.run(x, "iss", hw)
    return result, graph._module(hw).report.json, hw


def test_a_sound_run_has_no_faults(run):
    result, report, _ = run
    assert result.faults == []
    assert list(result.row) == KEYS.split()
    assert result.row["cycles"] == report["total"]["cycles"] >= result.row["roofline_cycles"] > 0
    assert set(result.took) == set(epu.STAGES)
    epu.print_table([result])


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda r: r["total"]["queues"]["arr"].update(wait=0), "arr: busy and stalls are"),
        (lambda r: r["total"].update(cycles=1), "1 cycles, roofline"),
        (lambda r: r["total"].update(roofline_cycles=1), "(reported: 1)"),
        (lambda r: r["layers"][1].update(cycles=0), "cycles of the layers are not the total's"),
        (lambda r: r["layers"][1].update(ddr_bytes=1), "ddr_bytes of the layers are not the total's"),
        (lambda r: r["layers"][2].update(mac_utilization=1.5), "layer fc: "),
    ],
)
def test_a_wrong_account_is_seen(run, change, wanted):
    _, report, hw = run
    assert epu.find_faults(report, hw) == []
    wrong = copy.deepcopy(report)
    change(wrong)
    assert any(wanted in fault for fault in epu.find_faults(wrong, hw)), epu.find_faults(wrong, hw)
