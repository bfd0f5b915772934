# SPDX-License-Identifier: Apache-2.0
"""The Python package over the C interface: operators, graphs, files, hardware, errors, handles."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import opencgc
from opencgc import errors
from opencgc.attrs import Reference, format_attrs
from opencgc.handles import Context

ROOT = Path(__file__).parent.parent


def conv_graph(rng, channels: int = 4) -> opencgc.Graph:
    """quantize -> qlinear_conv2d -> dequantize with per-channel weights."""
    builder = opencgc.GraphBuilder()
    x = builder.input("x", (1, 3, 6, 6))
    weight = builder.constant(rng.integers(-127, 128, (channels, 3, 3, 3), dtype=np.int8))
    bias = builder.constant(rng.integers(-500, 500, channels, dtype=np.int32))
    scales = builder.constant(rng.uniform(0.001, 0.01, channels).astype(np.float32))
    q = builder.node("qnn.quantize", [x], '0.05f, 3, out_dtype="int8"')
    attrs = {
        "padding": [1, 1, 1, 1],
        "channels": channels,
        "kernel_size": [3, 3],
        "out_dtype": "int8",
        "bias_fusion": True,
        "x_zero_point": 3,
        "x_scale": 0.05,
        "w_zero_point": 0,
        "w_scale": scales.reference,
        "y_zero_point": -7,
        "y_scale": 0.2,
    }
    y = builder.node("contrib.epu.qlinear_conv2d", [q, weight, bias], attrs, layer="conv")
    return builder.finish([builder.node("qnn.dequantize", [y], "0.2f, -7", layer="conv")])


# ---- attribute text ----


def test_scales_print_as_the_shortest_decimal_that_reads_back(rng):
    for value in rng.uniform(1e-6, 1, 500).astype(np.float32):
        text = format_attrs({"y_scale": value})
        assert np.float32(text.removeprefix("y_scale=").removesuffix("f")) == value
    assert format_attrs({"y_scale": np.float32(0.1)}) == "y_scale=0.1f"


def test_attribute_text_of_every_kind():
    attrs = {"a": True, "b": np.int32(-3), "c": [1, 2], "d": "int8", "e": Reference("input[2]")}
    assert format_attrs(attrs, (0.5, 7)) == '0.5f, 7, a=True, b=-3, c=[1, 2], d="int8", e=input[2]'


def test_a_number_that_is_not_finite_has_no_attribute_text():
    with pytest.raises(errors.AttributeValueError, match="not finite"):
        format_attrs({"y_scale": float("nan")})
    with pytest.raises(errors.AttributeValueError, match="not finite"):
        format_attrs({"y_scale": 1e300})


def test_a_bound_may_be_infinite():
    assert format_attrs({"a_min": -np.inf, "a_max": np.float32(np.inf)}) == "a_min=-inf, a_max=inf"


# ---- single operators ----


def test_eval_op_quantize(rng):
    x = rng.normal(0, 3, (2, 5, 4)).astype(np.float32)
    (q,) = opencgc.eval_op("qnn.quantize", '0.03f, -5, out_dtype="int8"', [x])
    wanted = np.clip(np.rint(x / np.float32(0.03)) - 5, -128, 127).astype(np.int8)
    assert np.array_equal(q, wanted)
    assert 0 < np.count_nonzero(q == 127) < q.size


def test_eval_op_per_channel_scale_is_an_input(rng):
    x = rng.integers(-128, 128, (3, 8), dtype=np.int8)
    w = rng.integers(-127, 128, (4, 8), dtype=np.int8)
    scales = np.array([0.01, 0.02, 0.001, 0.5], np.float32)
    attrs = format_attrs(
        {
            "units": 4,
            "x_scale": 0.1,
            "x_zero_point": 2,
            "w_scale": Reference("input[2]"),
            "y_scale": 0.7,
            "y_zero_point": 1,
            "out_dtype": "int8",
        }
    )
    (y,) = opencgc.eval_op("contrib.epu.dense", attrs, [x, w, scales])
    acc = (x.astype(np.int32) - 2) @ w.astype(np.int32).T
    m = (np.float32(0.1) * scales).astype(np.float32) / np.float32(0.7)
    wanted = np.clip(np.rint(acc.astype(np.float32) * m) + 1, -128, 127).astype(np.int8)
    assert np.array_equal(y, wanted)


def test_eval_op_takes_arrays_that_are_not_contiguous_or_not_writable(rng):
    x = rng.normal(0, 1, (4, 6)).astype(np.float32).T
    x.flags.writeable = False
    assert np.array_equal(opencgc.eval_op("nn.relu", "", [x])[0], np.maximum(x, 0))


def test_infer_op_gives_types_without_evaluating():
    (kind,) = opencgc.infer_op("reshape", "newshape=[2, 6]", [np.zeros((3, 4), np.float32)])
    assert kind == ((2, 6), "float32")


def test_an_unknown_operator_is_named():
    with pytest.raises(errors.OperatorError) as caught:
        opencgc.eval_op("nn.rely", "", [np.zeros(3, np.float32)])
    assert caught.value.id == "E_OP"
    assert "nn.rely" in str(caught.value)
    assert "nn.relu" in str(caught.value)


def test_an_operator_error_does_not_spoil_the_next_call():
    with pytest.raises(opencgc.Error):
        opencgc.eval_op("nn.relu", "nonsense=1", [np.zeros(3, np.float32)])
    assert opencgc.eval_op("nn.relu", "", [np.full(3, -1, np.float32)])[0].tolist() == [0, 0, 0]


def test_operators_in_threads(rng):
    x = rng.normal(0, 1, 100_000).astype(np.float32)
    wanted = opencgc.eval_op("qnn.quantize", '0.01f, 0, out_dtype="int8"', [x])[0]
    failures = []

    def work() -> None:
        for _ in range(20):
            got = opencgc.eval_op("qnn.quantize", '0.01f, 0, out_dtype="int8"', [x])[0]
            if not np.array_equal(got, wanted):
                failures.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_op_names_are_those_of_the_list():
    listed = re.findall(r'^OP\(\w+,\s*"([^"]+)"', (ROOT / "src/ops/ops.def").read_text(), re.MULTILINE)
    assert opencgc.op_names() == listed


# ---- graphs ----


def test_a_graph_prints_parses_saves_and_loads(rng, tmp_path):
    graph = conv_graph(rng)
    x = {"x": rng.normal(0, 2, (1, 3, 6, 6)).astype(np.float32)}
    wanted = graph.run(x)["out_0"]
    path = tmp_path / "conv.cgc"
    graph.save(path)
    loaded = opencgc.load(path)
    assert str(loaded) == str(graph)
    assert loaded.format(layers=True) == graph.format(layers=True)
    assert 'layer="conv"' in graph.format(layers=True)
    assert loaded.run(x)["out_0"].tobytes() == wanted.tobytes()
    assert (tmp_path / "conv.safetensors").exists()
    (tmp_path / "folder").mkdir()
    with pytest.raises(errors.FileError, match="found a folder, wanted a file name"):
        graph.save(tmp_path / "folder")
    assert not (tmp_path / "folder.safetensors").exists()


def test_inputs_and_outputs_have_names_and_types(rng):
    graph = conv_graph(rng)
    assert graph.inputs == {"x": ((1, 3, 6, 6), "float32")}
    assert graph.outputs == {"out_0": ((1, 4, 6, 6), "float32")}


def test_output_names_and_order(rng):
    builder = opencgc.GraphBuilder()
    x = builder.input("x", (2, 3))
    y = builder.node("nn.relu", [x])
    z = builder.node("reshape", [y], {"newshape": [6]})
    graph = builder.finish([z, x, y], ["flat", "same", "positive"])
    value = rng.normal(0, 1, (2, 3)).astype(np.float32)
    results = graph.run({"x": value})
    assert list(results) == ["flat", "same", "positive"]
    assert np.array_equal(results["same"], value)
    assert np.array_equal(results["flat"], np.maximum(value, 0).reshape(6))


INPUT_ERRORS = [
    (
        {},
        "error[E_ARGUMENT] an input is missing: x; found no inputs, wanted x\n"
        "  cure: give run() one array per input name",
    ),
    (
        {"x": np.zeros((1, 3, 6, 6), np.float32), "y": np.zeros(1)},
        "error[E_ARGUMENT] there is no such input: y; found x, y, wanted x\n"
        "  cure: give run() one array per input name",
    ),
    (
        {"x": np.zeros((1, 3, 6, 7), np.float32)},
        "error[E_TYPE] input 'x' has the wrong shape; found Tensor[(1, 3, 6, 7), float32], "
        "wanted Tensor[(1, 3, 6, 6), float32]\n  cure: reshape 'x'",
    ),
    (
        {"x": np.zeros((1, 3, 6, 6))},
        "error[E_TYPE] input 'x' has the wrong element type; found Tensor[(1, 3, 6, 6), float64], "
        "wanted Tensor[(1, 3, 6, 6), float32]\n  cure: use x.astype('float32')",
    ),
    (
        np.zeros((1, 3, 6, 6), np.float32),
        "error[E_ARGUMENT] the inputs are not a dict; found ndarray, wanted x\n"
        "  cure: give run() one array per input name: {'x': array}",
    ),
]


@pytest.mark.parametrize(("inputs", "message"), INPUT_ERRORS)
def test_wrong_inputs_are_refused_in_full_words(rng, inputs, message):
    with pytest.raises(opencgc.Error) as caught:
        conv_graph(rng).run(inputs)
    assert str(caught.value) == message


def test_a_node_that_does_not_fit_names_its_layer():
    builder = opencgc.GraphBuilder()
    x = builder.input("x", (1, 3))
    with pytest.raises(opencgc.Error) as caught:
        builder.node("reshape", [x], {"newshape": [4]}, layer="head.flatten")
    assert caught.value.layer == "head.flatten"
    assert caught.value.op == "reshape"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(errors.FileError, match="absent"):
        opencgc.load(tmp_path / "absent.cgc")


# ---- hardware ----


def test_hwconfig_has_every_parameter_of_the_list():
    rows = re.findall(r"^PARAM\((\w+),\s*\w+,\s*(\d+)", (ROOT / "isa/hwconfig.def").read_text(), re.MULTILINE)
    assert opencgc.HWConfig().values() == {name: int(default) for name, default in rows}
    assert all(opencgc.HWConfig.meanings().values())


def test_hwconfig_presets_and_changes():
    hw = opencgc.HWConfig.preset("cx-8x8x16", ddr_latency=50)
    assert (hw.array_size, hw.macs_per_pe, hw.ddr_latency) == (8, 16, 50)
    assert hw != opencgc.HWConfig()
    assert opencgc.HWConfig(**hw.values()) == hw
    assert "array_size=8" in repr(hw)


def test_hwconfig_refuses_what_makes_no_sense():
    with pytest.raises(errors.TargetError, match="array_size"):
        opencgc.HWConfig(array_size=0)
    with pytest.raises(errors.TargetError, match="did you mean 'array_size'"):
        opencgc.HWConfig(aray_size=8)
    with pytest.raises(errors.TargetError, match="did you mean 'cx-perform'"):
        opencgc.HWConfig.preset("cx-preform")
    with pytest.raises(errors.TargetError, match="not a number"):
        opencgc.HWConfig(array_size=...)


def test_compile_refuses_a_preset_without_hwconfig(rng, tmp_path):
    with pytest.raises(errors.TargetError, match=r"found 'cx-nano', wanted a HWConfig\n.*HWConfig\.preset"):
        conv_graph(rng).compile("m", "cx-nano", tmp_path)


def test_hwconfig_from_json_names_the_nearest_parameter(tmp_path):
    (tmp_path / "hw.json").write_text('{"array_sise": 8}', "utf-8")
    with pytest.raises(opencgc.Error) as caught:
        opencgc.HWConfig.from_json(tmp_path / "hw.json")
    assert caught.value.cure == "did you mean 'array_size'?"


def test_hwconfig_from_json(tmp_path):
    (tmp_path / "hw.json").write_text('{"array_size": 8, "ddr_bytes_per_cycle": 32}')
    hw = opencgc.HWConfig.from_json(tmp_path / "hw.json")
    assert (hw.array_size, hw.ddr_bytes_per_cycle) == (8, 32)


# ---- errors and handles ----


def test_every_status_has_a_class():
    names = re.findall(r"^STATUS\((\w+),", (ROOT / "src/base/status.def").read_text(), re.MULTILINE)
    assert {f"E_{name}" for name in names if name != "OK"} == set(errors.BY_ID)


def test_an_error_carries_its_fields():
    error = errors.FitError(
        "the layer does not fit",
        layer="layer4.0",
        op="nn.relu",
        setting="ocm_size",
        found=1,
        wanted=2,
        cure="more",
    )
    assert str(error) == (
        "error[E_FIT] layer 'layer4.0' (nn.relu): the layer does not fit; found 1, wanted 2\n  cure: more"
    )
    assert (error.layer, error.op, error.setting, error.found, error.wanted, error.cure, error.id) == (
        "layer4.0",
        "nn.relu",
        "ocm_size",
        "1",
        "2",
        "more",
        "E_FIT",
    )


def test_a_closed_handle_says_so(rng):
    with conv_graph(rng) as graph:
        assert graph.inputs
    graph.close()
    with pytest.raises(errors.ArgumentError, match="closed"):
        str(graph)


def test_closing_a_context_closes_what_was_made_from_it(rng):
    graph = conv_graph(rng)
    graph.context.close()
    with pytest.raises(errors.ArgumentError, match="closed"):
        graph.verify()


def test_an_unknown_option_is_refused():
    with pytest.raises(opencgc.Error, match="colour"):
        Context().set_option("colour", "1")


def test_no_torch_is_needed():
    code = "import sys, opencgc; sys.exit('torch' in sys.modules or 'onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
