# SPDX-License-Identifier: Apache-2.0
"""The cgc command: what it prints, writes and returns."""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")

ROOT = pathlib.Path(__file__).parent.parent


def find_command() -> str:
    """The build's command, else the installed one."""
    for path in (os.environ.get("CGC"), ROOT / "build/c/cgc", shutil.which("cgc")):
        if path and pathlib.Path(path).exists():
            return str(path)
    pytest.skip("no cgc command: build build/c or install the package")


def cgc(*args: object, cwd: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [find_command(), *map(str, args)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, timeout=600)


@pytest.fixture
def model(tmp_path: pathlib.Path) -> pathlib.Path:
    """A small convolution with float edges: x float32 [1, 3, 8, 8] -> out_0 float32 [1, 4, 8, 8]."""
    rng = np.random.default_rng(1)
    b = opencgc.GraphBuilder()
    x = b.input("x", (1, 3, 8, 8))
    w = b.constant(rng.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8))
    bias = b.constant(rng.integers(-900, 900, 4).astype(np.int32))
    q = b.node("qnn.quantize", [x], "0.02f, -5")
    conv = b.node(
        "contrib.epu.qlinear_conv2d",
        [q, w, bias],
        "padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], bias_fusion=True, x_zero_point=-5, "
        "x_scale=0.02f, w_zero_point=0, w_scale=0.01f, y_zero_point=3, y_scale=0.07f",
        "net.conv",
    )
    graph = b.finish([b.node("qnn.dequantize", [conv], "0.07f, 3")])
    path = tmp_path / "my-net.cgc"
    graph.save(path)
    return path


def test_run_interp_from_files(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    x = np.random.default_rng(2).uniform(-2, 2, (1, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    done = cgc("run", model, "--inputs", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    wanted = opencgc.load(model).run({"x": x})["out_0"]
    found = np.load(tmp_path / "out" / "out_0.npy")
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)
    assert done.stdout.startswith("out_0 float32[1, 4, 8, 8] fnv1a ")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["out_0.npy"]


def test_random_inputs_are_the_same_each_time(model: pathlib.Path) -> None:
    first, second, other = (cgc("run", model, "--random", seed).stdout for seed in (7, 7, 8))
    assert first == second != other


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "MODEL"], "input 'x' is missing"),
        (["run", "MODEL", "--random", "x"], "--random wants a number"),
        (["run", "MODEL", "--inputs", "y=f.npy"], "--inputs wants NAME=FILE.npy"),
        (["run", "MODEL", "--inputs", "y=f.npy"], "the model's input: x float32[1, 3, 8, 8]"),
        (["run", "MODEL", "--inputs", "x=absent.npy"], "absent.npy: it cannot be opened"),
        (["run", "MODEL", "--random", "1", "--engine", "gpu"], "found gpu"),
        (["run", "MODEL", "--random", "1", "--engine", "gpu"], "iss or iss:race; interp runs a graph"),
        (
            ["print", "MODEL", "--passes", "foo"],
            "--passes: there is no pass 'foo'; wanted all, fold_constants, ",
        ),
        (["run", "absent.cgc", "--random", "1"], "absent.cgc"),
        (["run"], "an argument is missing"),
        (["run", "MODEL", "--fast"], "unknown option --fast"),
        (["run", "MODEL", "--random"], "--random wants a value"),
        (["sim", "MODEL", "--random", "1", "--report", "xml"], "--report wants text, csv or json"),
        (["compile", "MODEL", "--name", "a/b"], "module name is unusable"),
        (["compile", "MODEL", "--set", "array_size=0"], "array_size"),
        (["compile", "MODEL", "--set", "pes=4"], "pes"),
        (["compile", "MODEL", "--set", "array_sise=4"], "did you mean 'array_size'?"),
        (["compile", "MODEL", "--hw", "cx-perfrom"], "did you mean 'cx-perform'?"),
        (["compile", "MODEL", "--set", "array_size"], "--set wants name=number"),
        (["compile", "MODEL", "--hw", "huge"], "huge"),
        (["prove", "MODEL", "--random", "1", "--engines", "host,gpu"], "found gpu"),
    ],
)
def test_errors_have_status_2(
    model: pathlib.Path, tmp_path: pathlib.Path, args: list[str], words: str
) -> None:
    done = cgc(*[str(model) if a == "MODEL" else a for a in args], cwd=tmp_path)
    assert done.returncode == 2, done
    assert words in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((1, 3, 8, 8)), "element type"),
        (np.zeros((1, 3, 8, 9), np.float32), "shape"),
        (np.zeros((1, 3, 8), np.float32), "shape"),
        (np.zeros((1, 3, 8, 8, 1), np.float32), "shape"),
        (np.asfortranarray(np.zeros((1, 3, 8, 8), np.float32)), "Fortran order"),
    ],
)
def test_wrong_npy(model: pathlib.Path, tmp_path: pathlib.Path, array: np.ndarray, words: str) -> None:
    np.save(tmp_path / "x.npy", array)
    done = cgc("run", model, "--inputs", f"x={tmp_path / 'x.npy'}")
    assert done.returncode == 2
    assert words in done.stderr
    assert "the model's input: x float32[1, 3, 8, 8]" in done.stderr


@pytest.mark.parametrize("cut", [0, 5, 9, 40, -1])
def test_cut_npy(model: pathlib.Path, tmp_path: pathlib.Path, cut: int) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data[:cut])
    assert cgc("run", model, "--inputs", f"x={tmp_path / 'x.npy'}").returncode == 2


def test_help_of_a_command() -> None:
    done = cgc("compile", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "cgc compile MODEL.cgc [-o DIR]" in done.stdout
    assert "--set NAME=VALUE (cgc isa --parameters lists them)" in done.stdout


def test_parameters_have_units_and_ranges() -> None:
    lines = cgc("isa", "--parameters").stdout.splitlines()
    assert lines[0].split() == ["parameter", "value", "unit", "range", "meaning"]
    assert lines[1].split()[:6] == ["array_size", "16", "PEs", "1", "to", "64"]
    assert len(lines) == 2 + len(opencgc.HWConfig.meanings())


def test_the_report_counts_in_words(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """One tile is no tiles; a change of layout is said once."""
    b = opencgc.GraphBuilder()
    x = b.input("x", (1, 3, 8, 8))
    pool = b.node("nn.max_pool2d", [x], "pool_size=[2, 2], strides=[2, 2]", "pool")
    flat = b.node("reshape", [pool], "newshape=[1, 48]", "flat")
    b.finish([flat]).save(tmp_path / "f.cgc")
    for path in (model, tmp_path / "f.cgc"):
        cgc("compile", path, "-o", tmp_path / "out", "--name", path.stem[:1])
    text = "".join((tmp_path / f"out/{name}/report.txt").read_text("utf-8") for name in "mf")
    assert not re.search(r"\b1 (tiles|stages|pixels|lanes|parts|output channels|bytes|layers)\b", text), text
    assert re.search(r"\b1 (tile|stage)\b", text), text
    relayouts = [line for line in text.splitlines() if " relayout " in line]
    assert {re.split(r" 0  ", line)[-1] for line in relayouts} == {
        "scalar core: change of layout",
        "scalar core: copy of a graph output",
    }


@pytest.mark.parametrize(
    "option", [("--hw", "cx-nano"), ("--set", "array_size=8"), ("--name", "b"), ("-o", "d")]
)
def test_a_tree_is_not_compiled_again(
    model: pathlib.Path, tmp_path: pathlib.Path, option: tuple[str, str]
) -> None:
    cgc("compile", model, "-o", tmp_path / "out", "--name", "net")
    done = cgc("sim", tmp_path / "out/net", "--random", 1, *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option[0]} is for a MODEL.cgc" in done.stderr


def test_compile_leaves_only_the_tree(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = cgc("compile", model, "-o", tmp_path / "out", "--name", "net", "--hw", "cx-nano")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/out/net\n"
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["net"]
    manifest = json.loads((tmp_path / "out/net/manifest.json").read_text("utf-8"))
    assert manifest["hw"]["array_size"] == 8
    assert cgc("compile", model, "-o", tmp_path / "out2").stdout == f"{tmp_path}/out2/my_net\n"


@pytest.mark.slow
def test_run_and_prove_every_engine(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    lines = {cgc("run", model, "--random", 3).stdout}
    cgc("compile", model, "-o", tmp_path / "out", "--name", "net")
    tree = tmp_path / "out" / "net"
    for engine in ("host", "host:ref", "epu_host", "iss", "iss:race"):
        done = cgc("run", tree, "--random", 3, "--engine", engine)
        assert done.returncode == 0, done.stderr
        lines.add(done.stdout)
    assert len(lines) == 1
    proof = cgc("prove", tree, "--random", 3)
    assert proof.returncode == 0, proof.stdout + proof.stderr
    assert proof.stdout.endswith("differing bytes: 0\n")


@pytest.mark.slow
def test_prove_names_what_differs(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A weight changed behind the compiler's back: status 1, the layer and both values."""
    cgc("compile", model, "-o", tmp_path / "out", "--name", "net")
    tree = tmp_path / "out" / "net"
    weights = bytearray((tree / "weights_host.bin").read_bytes())
    weights[0] ^= 0x55
    (tree / "weights_host.bin").write_bytes(weights)
    proof = cgc("prove", tree, "--random", 3, "--engines", "host:ref")
    assert proof.returncode == 1, proof.stderr
    assert "'net.conv' (contrib.epu.qlinear_conv2d, %1) at [" in proof.stdout
    assert not proof.stdout.endswith("differing bytes: 0\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("*(volatile uint32_t *)0x20u = 1u;", "used a bad address"),
        ("ccl_swait(31u, 1u);", "waits for ever"),
        ('__asm__ volatile(".word 0");', "used an illegal instruction"),
    ],
)
def test_faults_name_layer_and_place(
    model: pathlib.Path, tmp_path: pathlib.Path, line: str, words: str
) -> None:
    """A program broken by hand: build.sh runs again because a source is newer, the fault has its place."""
    cgc("compile", model, "-o", tmp_path / "out", "--name", "net")
    tree = tmp_path / "out" / "net"
    assert cgc("run", tree, "--random", 3, "--engine", "iss").returncode == 0
    source = (tree / "net_epu.c").read_text("utf-8")
    assert source.count("ccl_mark(2);") == 1
    (tree / "net_epu.c").write_text(source.replace("ccl_mark(2);", f"ccl_mark(2);\n    {line}"), "utf-8")
    done = cgc("run", tree, "--random", 3, "--engine", "iss")
    assert done.returncode == 2
    assert words in done.stderr
    assert "layer 'net.conv' (contrib.epu.qlinear_conv2d)" in done.stderr
    assert "(net_epu.c:" in done.stderr
    assert "error[E_FAULT]" in done.stderr


@pytest.mark.slow
def test_reports(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    cgc("compile", model, "-o", tmp_path / "out", "--name", "net", "--set", "num_cores=2")
    tree = tmp_path / "out" / "net"
    text = cgc("sim", tree, "--random", 3).stdout
    assert "net.conv" in text
    assert "1 of 2 cores are not used" in text
    rows = list(csv.DictReader(io.StringIO(cgc("sim", tree, "--random", 3, "--report", "csv").stdout)))
    report = json.loads(cgc("sim", tree, "--random", 3, "--report", "json").stdout)
    assert [row["layer"] for row in rows] == [layer["layer"] for layer in report["layers"]] + ["total"]
    total = report["total"]
    assert total["cycles"] == sum(layer["cycles"] for layer in report["layers"])
    assert total["macs"] == 4 * 3 * 9 * 64
    assert total["cycles"] >= total["roofline_cycles"] > 0
    for queue in total["queues"].values():
        assert sum(v for k, v in queue.items() if k != "ops") == total["cycles"]
    assert int(rows[-1]["cycles"]) == total["cycles"]
    assert total["mac_utilization"] == pytest.approx(total["macs"] / total["cycles"] / 2048, abs=1e-6)
