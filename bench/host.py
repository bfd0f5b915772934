# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of the emitted host program beside other runtimes that run the same quantized network.

    python bench/host.py --models resnet18 --threads 1 --json FILE

The peers get the network as ONNX in u8 QDQ form (qdq.py), their optimisations on. All run in one process, in
turn, each warmed once before each timed run; medians. JSON: {"rows": [{"model", "peer", "threads", "ours_ms",
"peer_ms", "ratio", "ours_least_ms", "peer_least_ms"}]}, ratio = peer / ours, so above 1 we are faster.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from networks import NETWORKS, quantized_graph
from qdq import to_onnx

Array = np.ndarray[Any, Any]
Run = Callable[[], Array]
ALIGN = 4096


# ---- ours ----


class ProgramTable(ctypes.Structure):
    """What ccl_program_get returns (docs/program.md)."""

    _fields_ = [
        ("arena_bytes", ctypes.CFUNCTYPE(ctypes.c_size_t)),
        ("weights_bytes", ctypes.CFUNCTYPE(ctypes.c_size_t)),
        (
            "run",
            ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_char_p, *[ctypes.c_void_p] * 2),
        ),
    ]


def aligned(size: int) -> Array:
    """Return zeroed bytes at a page boundary."""
    raw = np.zeros(size + ALIGN, np.uint8)
    start = -raw.ctypes.data % ALIGN
    return raw[start : start + size]


def our_run(source: Path, x: Array, outputs: int, variant: str) -> Run:
    """Load the built program and return a call of it, without our Python layers in between."""
    library = ctypes.CDLL(str(next((source / "build").glob("lib*_host.so"))))
    library.ccl_program_get.restype = ctypes.POINTER(ProgramTable)
    program = library.ccl_program_get().contents
    weights, arena = aligned(program.weights_bytes()), aligned(program.arena_bytes())
    weights[:] = np.fromfile(source / "weights_host.bin", np.uint8)
    y = np.zeros(outputs, np.float32)
    inputs = (ctypes.c_void_p * 1)(x.ctypes.data)
    results = (ctypes.c_void_p * 1)(y.ctypes.data)
    name = variant.encode()

    def run() -> Array:
        code = program.run(weights.ctypes.data, arena.ctypes.data, inputs, results, name, None, None)
        if code != 0:
            msg = f"the program returned {code}"
            raise RuntimeError(msg)
        return y

    return run


# ---- peers ----


def onnxruntime_run(model: bytes, x: Array, threads: int) -> Run:
    """Session with all optimisations, which is the default."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    return lambda: np.asarray(session.run(None, feed)[0]).ravel()


def openvino_run(model: bytes, x: Array, threads: int) -> Run:
    """Compiled for latency on the CPU."""
    import openvino

    core = openvino.Core()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model)
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        request = core.compile_model(core.read_model(path), "CPU", settings).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))

    def run() -> Array:
        request.infer()
        result: Array = request.get_output_tensor().data
        return result.ravel()

    return run


PEERS = {"onnxruntime": onnxruntime_run, "openvino": openvino_run}


def interleaved(runs: dict[str, Run], rounds: int) -> dict[str, tuple[float, float]]:
    """Return median and least milliseconds of each; far apart, they tell of a busy machine."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            started = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - started) * 1e3)
    return {name: (statistics.median(values), min(values)) for name, values in times.items()}


def measure(name: str, threads: int, rounds: int, variant: str, folder: Path) -> list[dict[str, Any]]:
    """Compile a model, check that all compute the same network, and time them."""
    graph, origin = quantized_graph(NETWORKS[name])
    print(f"{name}: {origin}", file=sys.stderr)
    x = np.random.default_rng(0).standard_normal(NETWORKS[name].shape).astype(np.float32)
    module = graph.compile(name, build_path=folder)
    module.build("host")
    wanted = next(iter(graph.run({"x": x}).values())).ravel()
    runs = {"ours": our_run(Path(module.source_path), x, wanted.size, variant)}
    model = to_onnx(graph)
    for peer, start in PEERS.items():
        if find_spec(peer):
            runs[peer] = start(model, x, threads)
        else:
            print(f"{peer}: not installed", file=sys.stderr)
    differing = int((runs["ours"]() != wanted).sum())
    if differing:
        msg = f"{name}: {differing} outputs differ from the interpreter's"
        raise RuntimeError(msg)
    for peer, run in runs.items():
        worst = float(np.abs(run() - wanted).max()) / (float(np.abs(wanted).max()) or 1.0)
        print(f"{name}: {peer}: largest difference {worst:.2%} of the largest output", file=sys.stderr)
    ms = interleaved(runs, rounds)
    return [
        {
            "model": name,
            "peer": peer,
            "threads": threads,
            "ours_ms": round(ms["ours"][0], 4),
            "peer_ms": round(ms[peer][0], 4),
            "ratio": round(ms[peer][0] / ms["ours"][0], 4),
            "ours_least_ms": round(ms["ours"][1], 4),
            "peer_least_ms": round(ms[peer][1], 4),
        }
        for peer in runs
        if peer != "ours"
    ]


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default="resnet18", help=f"comma list of {', '.join(NETWORKS)}")
    parser.add_argument(
        "--threads", type=int, default=1, choices=[1], help="the host program has one thread so far"
    )
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--variant", default="", help="'' = best for this CPU, ref, avx512vnni")
    parser.add_argument("--json", type=Path, help="write the rows here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory(prefix="opencgc-bench-") as folder:
        for name in arguments.models.split(","):
            if name not in NETWORKS:
                parser.error(f"unknown model '{name}'; there are {', '.join(NETWORKS)}")
            rows += measure(name, arguments.threads, arguments.rounds, arguments.variant, Path(folder))
    print(f"{'model':12} {'peer':12} {'threads':>7} {'ours ms':>9} {'peer ms':>9} {'ratio':>6}   least ms")
    for row in rows:
        print(
            "{model:12} {peer:12} {threads:7} {ours_ms:9.3f} {peer_ms:9.3f} {ratio:6.2f}   "
            "{ours_least_ms:.3f} / {peer_least_ms:.3f}".format(**row)
        )
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
