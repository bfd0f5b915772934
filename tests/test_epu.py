# SPDX-License-Identifier: Apache-2.0
"""The EPU compiler on random networks and machines: the interpreter's bytes, no races, errors with sizes."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pathlib

opencgc = pytest.importorskip("opencgc")
epu_net = pytest.importorskip("epu_net")

SEEDS = range(40)
# Analysis of the machine: 0.97 million cycles if only products counted.
MOST_CYCLES = {"cx-perform": 1_300_000, "cx-8x8x16": 2_100_000}


def _prove(net: epu_net.Net, hw: opencgc.HWConfig, engines: list[str]) -> None:
    proof = net.finish().prove(net.feed, engines, hw)
    assert proof.differing == 0, str(proof)


def _has_sizes_and_layer(error: opencgc.errors.FitError) -> None:
    assert re.search(r"\d+ bytes", error.found), str(error)
    assert re.search(r"\d+ bytes", error.wanted), str(error)
    assert error.layer


@pytest.mark.parametrize("seed", SEEDS)
def test_random_net_on_random_machine(seed: int) -> None:
    net, values = epu_net.random_net(seed), epu_net.random_hw(seed)
    engines = ["iss:race", "epu_host"] if seed % 8 == 0 else ["iss:race"]
    try:
        _prove(net, opencgc.HWConfig(**values), engines)
    except opencgc.errors.FitError as error:  # small memories may be too small
        _has_sizes_and_layer(error)


@pytest.mark.parametrize("preset", sorted(MOST_CYCLES))
def test_resnet18_cycles(preset: str, tmp_path: pathlib.Path) -> None:
    net = epu_net.resnet18()
    graph = net.finish()
    module = graph.compile("resnet18", opencgc.HWConfig(preset), tmp_path)
    found = module.run(net.feed, "iss:race")
    wanted = graph.run(net.feed)
    assert all((found[name] == wanted[name]).all() for name in wanted)
    total = module.report.json["total"]
    assert total["roofline_cycles"] <= total["cycles"] <= MOST_CYCLES[preset]
    assert "scalar core:" not in (tmp_path / "resnet18" / "report.txt").read_text("utf-8")


def test_emitted_text_has_no_warning(tmp_path: pathlib.Path) -> None:
    net = epu_net.random_net(3)
    net.finish().compile("m", opencgc.HWConfig(), tmp_path)
    tree = tmp_path / "m"
    for compiler in (["cc"], [*_zig(), "-fno-sanitize=undefined"]):
        flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-Ikernels", "-Ikernels/epu"]
        command = [*compiler, *flags, "-c", "m_epu.c", "-o", "m.o"]
        result = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


def _zig() -> list[str]:
    import sys

    pytest.importorskip("ziglang")
    return [sys.executable, "-m", "ziglang", "cc"]


def test_same_tree_twice(tmp_path: pathlib.Path) -> None:
    trees = []
    for name in ("a", "b"):
        epu_net.random_net(5).finish().compile("m", opencgc.HWConfig(), tmp_path / name)
        tree = tmp_path / name / "m"
        trees.append({p.relative_to(tree): p.read_bytes() for p in sorted(tree.rglob("*")) if p.is_file()})
    assert trees[0] == trees[1]


def test_activations_that_do_not_fit() -> None:
    net = epu_net.Net(1, (1, 8, 64, 64))
    net.conv(16, (3, 3), pad=(1, 1, 1, 1), layer="body.conv")
    with pytest.raises(opencgc.Error) as caught:
        net.finish().compile("m", opencgc.HWConfig(ocm_size=65536), "unused")
    error = caught.value
    assert (error.id, error.layer, error.setting) == ("E_FIT", "body.conv", "ocm_size")
    assert error.found == "65536 bytes"
    assert "98304" in error.wanted
    assert "more OCM" in error.cure


def test_weight_zero_points_are_folded_or_named(tmp_path: pathlib.Path) -> None:
    text = (
        "def @main(%x: Tensor[(1, 4, 6, 6), int8]) {{\n"
        "  contrib.epu.qlinear_conv2d(%x, meta[relay.Constant][0], channels=5, kernel_size=[3, 3],\n"
        '    padding=[1, 1, 1, 1], out_dtype="int8", bias_fusion=False, x_zero_point=7, x_scale=0.02f,\n'
        "    w_zero_point={zp}, w_scale=0.01f, y_zero_point=1, y_scale=0.2f)\n}}\n"
    )
    import numpy as np

    rng = np.random.default_rng(0)
    weight = rng.integers(-60, 60, (5, 4, 3, 3)).astype(np.int8)
    feed = {"x": rng.integers(-128, 128, (1, 4, 6, 6)).astype(np.int8)}
    for zp, on_array in ((-9, True), (100, False)):
        graph = opencgc.Graph.parse(text.format(zp=zp), [weight])
        assert graph.prove(feed, ["iss:race"]).differing == 0
        graph.compile("m", opencgc.HWConfig(), tmp_path)
        report = (tmp_path / "m" / "report.txt").read_text("utf-8")
        assert ("weights less their zero point 100 leave int8" in report) is not on_array
