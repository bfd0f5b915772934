# SPDX-License-Identifier: Apache-2.0
"""The demo: a trained ResNet-18 becomes an int8 C program with the same bytes on every engine.

Trains (or reuses) a network on digits, loads its checkpoint, quantizes, exports, compiles, and compares the
output bytes of the PyTorch int8 module, the interpreter, the host program and the simulated program. Then
the ResNet-18 at 224x224: cycles, utilisation, DDR traffic and milliseconds. Writes under build/demo/.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from digits import TRAIN, load_digits, new_model, trained_checkpoint
from torch import nn
from torch.nn import functional
from torchvision.models import resnet18
from tqdm import tqdm

from opencgc import ChimeraModule, Graph, HWConfig
from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import (
    fold_batchnorm,
    freeze_model_weights,
    generate_quant_config,
    quantize_model,
    validate_model_export_ready,
)
from tvm.contrib.epu.chipy import Tensor, export

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "demo"
HARDWARE = "cx-perform"  # 16x16 PEs, 8 MACs each, 4 MB OCM, 16 B/cycle
SIMULATED = 100


def say(text: str = "") -> None:
    """Print a line at once, also into a pipe."""
    print(text, flush=True)


def step(text: str, work: Callable[[], Any]) -> Any:
    """Run one step and print how long it took."""
    print(f"{text} ... ", end="", flush=True)
    started = time.perf_counter()
    result = work()
    say(f"{time.perf_counter() - started:.1f} s")
    return result


def quantize(model: nn.Module, batches: Iterable[torch.Tensor]) -> nn.Module:
    """Take a float model through quadric_pyquant, in place."""
    fold_batchnorm(model)
    tag_all_modules(model)
    config = generate_quant_config(model)
    config["defaults"].update(int8_matmul=True, quantize_output=True, w_per_channel=True)
    quantize_model(model, config)
    run_calibration(model, batches, num_batches=20)
    freeze_model_weights(model)
    validate_model_export_ready(model)
    return model


def compile_model(model: nn.Module, side: int, name: str) -> tuple[Graph, ChimeraModule]:
    """Export a model for images of this size and compile it."""
    graph = export(model, x=Tensor(shape=(1, 3, side, side), dtype="float32"))
    return graph, graph.compile(name, HWConfig.preset(HARDWARE), OUT)


def run_module(model: nn.Module, images: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return the logits of a PyTorch model."""
    with torch.no_grad():
        return np.concatenate([model(batch).numpy() for batch in images.split(100)])


def run_engine(
    run: Callable[..., dict[str, np.ndarray[Any, Any]]], images: torch.Tensor, engine: str
) -> np.ndarray[Any, Any]:
    """Return the logits of one engine, image by image, with a progress bar."""
    bar = tqdm(images.split(1), desc=engine, unit="image", mininterval=1, leave=False)
    return np.concatenate([run({"x": image.numpy()}, engine)["out_0"] for image in bar])


def count_differing(wanted: np.ndarray[Any, Any], got: np.ndarray[Any, Any]) -> int:
    """Return how many bytes of got differ from the first of wanted."""
    return int(np.count_nonzero(wanted[: len(got)].view(np.uint8) != got.view(np.uint8)))


def digits_part() -> int:
    """Digits on every engine: prints the table, returns the number of differing bytes."""
    say("1. ResNet-18 on handwritten digits (32x32), float checkpoint to int8 programs")
    images, labels = load_digits()
    checkpoint = trained_checkpoint(OUT / "resnet18_digits.pt", images, labels)
    say(f"checkpoint: {checkpoint.relative_to(ROOT)}")

    model = new_model()
    model.load_state_dict(torch.load(checkpoint, weights_only=True))
    model.eval()
    test, truth = images[TRAIN:], labels[TRAIN:].numpy()
    logits = {"PyTorch float32": run_module(model, test)}
    quantize(model, images[:TRAIN].split(50))
    graph, module = step("exporting and compiling", lambda: compile_model(model, 32, "resnet18_digits"))
    step("building the host program", lambda: module.build("host"))
    step("cross-compiling for the simulator", lambda: module.build("iss"))
    logits["PyTorch int8 module"] = run_module(model, test)
    logits["interpreter"] = run_engine(graph.run, test, "interp")
    logits["host program"] = run_engine(module.run, test, "host")
    logits["host program, portable C"] = run_engine(module.run, test, "host:ref")
    logits["simulator"] = run_engine(module.run, test[:SIMULATED], "iss")

    say()
    say(f"{'':26s} {'digits':>7s} {'accuracy':>9s} {'differing bytes':>16s}")
    wanted, total = logits["PyTorch int8 module"], 0
    for name, values in logits.items():
        accuracy = float(np.mean(values.argmax(1) == truth[: len(values)]))
        differing = "" if name == "PyTorch float32" else str(count_differing(wanted, values))
        total += int(differing or 0)
        say(f"{name:26s} {len(values):7d} {accuracy:9.1%} {differing:>16s}")
    say(f"differing bytes: {total}")
    say()
    return total


def imagenet_resnet18() -> tuple[nn.Module, str]:
    """Return a ResNet-18 and where its weights come from."""
    socket.setdefaulttimeout(10)  # offline, the download is to fail soon
    try:
        return resnet18(weights="IMAGENET1K_V1").eval(), "ImageNet weights"
    except OSError as problem:
        torch.manual_seed(0)
        reason = getattr(problem, "reason", problem)
        return resnet18(
            weights=None
        ).eval(), f"seeded, untrained weights, as ImageNet's cannot be had: {reason}"


def milliseconds(runs: dict[str, Callable[[], Any]], rounds: int = 15) -> dict[str, float]:
    """Return the median time of each; they take turns, so that they see the same machine."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 2):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            if turn >= 2:  # the first rounds warm up
                times[name].append((time.perf_counter() - started) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def big_part() -> int:
    """ResNet-18 at 224x224: cycles and milliseconds; returns the number of differing bytes."""
    say("2. ResNet-18 at 1x3x224x224")
    model, weights = imagenet_resnet18()
    say(f"network: {weights}")
    images = functional.interpolate(load_digits()[0][:9], size=(224, 224), mode="bilinear")
    quantize(model, images[1:].split(4))
    graph, module = step("exporting and compiling", lambda: compile_model(model, 224, "resnet18_224"))
    step("building the host program", lambda: module.build("host"))
    step("cross-compiling for the simulator", lambda: module.build("iss"))
    x = {"x": images[:1].numpy()}
    wanted = run_module(model, images[:1])
    simulated = step("simulating one image", lambda: module.run(x, "iss")["out_0"])
    report = module.report.json["total"]
    source = Path(module.source_path)
    (source / "simulated.txt").write_text(module.report.text)
    (source / "simulated.csv").write_text(module.report.csv)
    differing = count_differing(wanted, simulated) + count_differing(wanted, module.run(x, "host")["out_0"])

    hw = HWConfig.preset(HARDWARE)
    say()
    say(
        f"simulated on {hw.array_size}x{hw.array_size} PEs, {hw.macs_per_pe} MACs each, "
        f"{hw.ocm_size >> 20} MB OCM, {hw.ddr_bytes_per_cycle} B/cycle:"
    )
    say(
        f"  {report['cycles']:,} cycles, MAC utilisation {report['mac_utilization']:.1%}, "
        f"{report['ddr_bytes'] / 1e6:.1f} MB over DDR"
    )
    runs = {"this host program": lambda: module.run(x, "host")}
    session = onnx_session(graph)
    if session is not None:
        runs["ONNX Runtime int8"] = lambda: session.run(None, {session.get_inputs()[0].name: x["x"]})
    for name, time_ms in milliseconds(runs).items():
        say(f"  {name}, one thread: {time_ms:.2f} ms")
    say(f"differing bytes: {differing}")
    say()
    say(f"C program:      {source / 'resnet18_224_epu.c'}")
    say(f"                {source / 'resnet18_224_host.c'}")
    say(f"compile report: {source / 'report.txt'}")
    say(f"per layer:      {source / 'simulated.txt'} (and .csv)")
    return differing


def onnx_session(graph: Graph) -> Any:
    """Return an ONNX Runtime session of the network in u8 QDQ form, or None if it is not installed."""
    sys.path.append(str(ROOT / "bench"))
    try:
        import onnxruntime
        from qdq import to_onnx
    except ImportError as problem:
        say(f"  no ONNX Runtime to measure beside: {problem}")
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(to_onnx(graph), options, providers=["CPUExecutionProvider"])


def main() -> int:
    """Run both parts; the exit status is 0 only if no byte differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--digits-only", action="store_true", help="leave out ResNet-18 at 224x224")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    differing = digits_part()
    if not arguments.digits_only:
        differing += big_part()
    say()
    say("next: .venv/bin/python examples/worked_example.py (every step spelled out), or change the hardware:")
    say("      HARDWARE = 'cx-8x8x16' in examples/demo.py, then ./demo again: cycles, report.txt")
    return 0 if differing == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
