# SPDX-License-Identifier: Apache-2.0
"""The tvm names: target, attributes, paths, build_relay, and their error texts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import opencgc
import tvm
import tvm.relay.backend.contrib.epu.codegen as epu_codegen
import tvm.relay.backend.contrib.epu.util as epu_utils
from opencgc import errors
from tvm.contrib.epu import HWConfig


def small_graph() -> opencgc.Graph:
    """quantize, dense, dequantize."""
    builder = opencgc.GraphBuilder()
    x = builder.input("x", (2, 8))
    q = builder.node("qnn.quantize", [x], '0.05f, 0, out_dtype="int8"')
    weight = builder.constant(np.arange(32, dtype=np.int8).reshape(4, 8))
    attrs = (
        'units=4, x_scale=0.05f, x_zero_point=0, w_scale=0.1f, y_scale=0.5f, y_zero_point=0, out_dtype="int8"'
    )
    y = builder.node("contrib.epu.dense", [q, weight], attrs, layer="fc")
    return builder.finish([builder.node("qnn.dequantize", [y], "0.5f, 0")])


TARGET = {"array_size": 8, "macs_per_pe": 8, "ocm_size": 1 << 20, "lrm_size": 4096, "num_cores": 1}


def test_a_target_has_the_values_given_and_defaults_for_the_rest():
    target = tvm.target.epu(model="", **TARGET)
    assert target.hw == HWConfig(**TARGET)
    assert tvm.target.epu("cx-8x8x16").hw == HWConfig.preset("cx-8x8x16")
    described = tvm.target.epu(hw_config=HWConfig(ddr_latency=77), array_size=4)
    assert (described.hw.ddr_latency, described.hw.array_size) == (77, 4)


def test_targets_nest():
    outer, inner = tvm.target.epu(array_size=8), tvm.target.epu(array_size=4)
    with outer:
        with inner:
            assert tvm.target.EpuTarget.current() is inner
        assert tvm.target.EpuTarget.current() is outer


def test_no_target_is_explained():
    with pytest.raises(errors.TargetError) as caught:
        epu_codegen.build_relay(small_graph(), module_name="m")
    assert str(caught.value) == (
        "error[E_TARGET] there is no target to compile for; found no active target, "
        "wanted a tvm.target.epu(...)\n"
        "  cure: with tvm.target.epu(array_size=16, macs_per_pe=8): build_relay(...)"
    )


def test_a_placeholder_value_is_refused():
    with pytest.raises(errors.TargetError) as caught:
        tvm.target.epu(model="", array_size=...)
    assert str(caught.value) == (
        "error[E_TARGET] array_size: a hardware value is not a number; found Ellipsis, wanted a number"
    )


def test_what_is_not_a_graph_is_refused():
    with tvm.target.epu(), pytest.raises(errors.ArgumentError, match="found dict, wanted what"):
        epu_codegen.build_relay({}, module_name="m")


def test_paths_without_a_build():
    assert epu_codegen.get_module_source_path("never_built") == "./ccl_build/never_built"
    assert epu_codegen.get_module_build_path("never_built") == "./ccl_build/never_built/build"
    with epu_utils.add_epu_passcontext_attributes(build_path="elsewhere"):
        assert epu_codegen.get_module_source_path("never_built") == "./elsewhere/never_built"


def test_build_relay_writes_the_tree_and_the_paths_follow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tvm.target.epu(model="", **TARGET), epu_utils.add_epu_passcontext_attributes():
        module = epu_codegen.build_relay(small_graph(), module_name="dense_one")
    assert Path(module.source_path).resolve() == (tmp_path / "ccl_build/dense_one").resolve()
    assert (tmp_path / "ccl_build/dense_one/dense_one_epu.c").exists()
    assert Path(epu_codegen.get_module_source_path("dense_one")).samefile(module.source_path)
    with tvm.target.epu(model="", **TARGET), epu_utils.add_epu_passcontext_attributes(build_path="other"):
        epu_codegen.build_relay(small_graph(), module_name="dense_two")
    assert epu_codegen.get_module_source_path("dense_two") == "./other/dense_two"
    assert (tmp_path / "other/dense_two/dense_two_host.c").exists()


@pytest.mark.parametrize("name", ["../escape", "/absolute", "a/b", "", "1st", "x y", "ccl_epu"])
def test_a_module_name_with_a_path_in_it(tmp_path, name):
    target = tvm.target.epu(model="", **TARGET)
    with (
        target,
        epu_utils.add_epu_passcontext_attributes(tmp_path / "b"),
        pytest.raises(opencgc.Error) as caught,
    ):
        epu_codegen.build_relay(small_graph(), module_name=name)
    assert caught.value.id == "E_NAME"
    assert not (tmp_path / "b").exists() or not any((tmp_path / "b").iterdir())


def test_a_layer_that_does_not_fit_is_named_with_its_sizes(tmp_path):
    builder = opencgc.GraphBuilder()
    q = builder.node("qnn.quantize", [builder.input("x", (1, 16, 32, 32))], '0.05f, 0, out_dtype="int8"')
    attrs = (
        "padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3], bias_fusion=False, x_zero_point=0, "
        "x_scale=0.05f, w_zero_point=0, w_scale=0.1f, y_zero_point=0, y_scale=0.5f"
    )
    weight = builder.constant(np.ones((16, 16, 3, 3), np.int8))
    y = builder.node("contrib.epu.qlinear_conv2d", [q, weight], attrs, layer="layer1.0.conv1")
    graph = builder.finish([builder.node("qnn.dequantize", [y], "0.5f, 0")])
    with pytest.raises(errors.FitError) as caught:
        graph.compile("m", HWConfig(ocm_size=8192), tmp_path)
    assert re.fullmatch(
        r"error\[E_FIT\] layer 'layer1\.0\.conv1' \(contrib\.epu\.qlinear_conv2d\): ocm_size: "
        r"the activations do not fit OCM; found 8192 bytes, wanted \d+ bytes \(\d+ live in this layer\)\n"
        r"  cure: choose a target with more OCM, or a smaller batch or image",
        str(caught.value),
    )
    assert not list(tmp_path.iterdir())


def test_a_build_path_that_is_a_file(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(errors.ArgumentError, match="the build path is a file"):
        with epu_utils.add_epu_passcontext_attributes(build_path=tmp_path / "f"):
            pass


def test_every_engine_and_the_report(tmp_path, rng):
    graph = small_graph()
    x = {"x": rng.normal(0, 3, (2, 8)).astype(np.float32)}
    wanted = graph.run(x)["out_0"]
    module = graph.compile("m", HWConfig(**TARGET), tmp_path)
    for engine in ("host", "host:ref", "epu_host", "iss", "iss:race"):
        assert module.run(x, engine)["out_0"].tobytes() == wanted.tobytes(), engine
    assert "fc" in module.report.text
    assert module.report.json["total"]["cycles"] > 0
    assert module.report.csv.count("\n") > 1
    assert "fc" in module.report.compile
    before = module.report.text
    module.run(x, "host:ref")
    assert module.report.text == before, "a run on the host keeps the simulator's figures"
    again = opencgc.ChimeraModule.open(module.source_path)
    assert again.run(x, "host")["out_0"].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("engines", ["host:ref", ["host:ref"], "host:ref,epu_host"])
def test_prove_takes_engines_as_a_text_or_a_list(rng, engines):
    proof = small_graph().prove({"x": rng.normal(0, 3, (2, 8)).astype(np.float32)}, engines=engines)
    assert proof, proof.text
    assert "host:ref" in proof.text
    assert ("epu_host" in proof.text) == ("epu_host" in engines)


def test_prove_counts_nothing_on_a_good_graph(rng):
    proof = small_graph().prove({"x": rng.normal(0, 3, (2, 8)).astype(np.float32)})
    assert proof
    assert proof.differing == 0
    assert str(proof)
