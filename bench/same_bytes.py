# SPDX-License-Identifier: Apache-2.0
"""The same bytes everywhere, at full size: ResNet-18 on 1,000 digits and on 8 images of 224x224.

    python bench/same_bytes.py [--digits 1000] [--simulated 100] [--images 8] [--simulated-images 2]

Per tensor and per output channel, the output bytes of the interpreter, every variant of the host program, the
EPU text built for the host and the simulator are compared with those of the PyTorch int8 module. For the
digits, a trained network, also accuracy and the signal-to-noise ratio of the logits against float32. Exit
status 1 if a byte differs, int8 loses more than half a point, or the ratio is below 35 dB. Takes minutes.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from networks import NETWORKS, load_network, quantize
from torch.nn import functional
from tqdm import tqdm

from opencgc import HWConfig
from opencgc.errors import Error
from tvm.contrib.epu.chipy import Tensor, export

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
from digits import TRAIN, load_digits, new_model, trained_checkpoint  # noqa: E402 - the demo's

if TYPE_CHECKING:
    from torch import nn

Array = np.ndarray[Any, Any]
HARDWARE = "cx-perform"
MOST_POINTS, LEAST_DB = 0.5, 35.0


@dataclass
class Check:
    """One network, the images that it sees, and how many of them are simulated."""

    name: str
    model: nn.Module  # float32
    calibration: list[torch.Tensor]
    images: torch.Tensor
    simulated: int
    labels: Array | None = None
    faults: list[str] = field(default_factory=list)


def run_torch(model: nn.Module, images: torch.Tensor) -> Array:
    """Return the outputs of a PyTorch model."""
    with torch.no_grad():
        return np.concatenate([model(batch).numpy() for batch in images.split(20)])


def signal_to_noise(wanted: Array, found: Array) -> float:
    """Return decibels."""
    noise = ((wanted - found).astype(np.float64) ** 2).sum()
    return float(10 * np.log10((wanted.astype(np.float64) ** 2).sum() / noise))


def compare(run: Any, engine: str, images: torch.Tensor, wanted: Array) -> str:
    """Return the number of differing bytes of an engine, or why it does not run, as text."""
    differing, started = 0, time.perf_counter()
    bar = tqdm(images.split(1), desc=engine, unit="image", mininterval=1, leave=False)
    for image, right in zip(bar, wanted, strict=True):
        try:
            (found,) = run({"x": image.numpy()}, engine).values()
        except Error as error:
            if engine.startswith("host:"):
                return f"not run: {error.message}"
            raise
        differing += int(np.count_nonzero(found[0].view(np.uint8) != right.view(np.uint8)))
    print(f"  {engine:18} {len(images):5} images {time.perf_counter() - started:7.1f} s", end="")
    return str(differing)


def check_values(check: Check, wanted: Array, place: str) -> None:
    """Accuracy and noise of the int8 network against the float one."""
    logits = run_torch(check.model, check.images)
    ratio = signal_to_noise(logits, wanted)
    line = f"  {'PyTorch int8':18} {len(wanted):5} images, {ratio:.1f} dB"
    if check.labels is not None:
        before, after = (100 * float(np.mean(v.argmax(1) == check.labels)) for v in (logits, wanted))
        line += f", accuracy {after:.2f} % (float32 {before:.2f} %)"
        if before - after > MOST_POINTS:
            check.faults.append(f"{place}: int8 loses {before - after:.2f} points")
        if ratio < LEAST_DB:
            check.faults.append(f"{place}: {ratio:.1f} dB")
    print(line, flush=True)


def run_check(check: Check, *, per_channel: bool) -> int:
    """Compare all engines on one network; returns the number of differing bytes."""
    place = f"{check.name}, {'per channel' if per_channel else 'per tensor'}"
    print(place, flush=True)
    model = quantize(copy.deepcopy(check.model), check.calibration, per_channel=per_channel)
    wanted = run_torch(model, check.images)
    check_values(check, wanted, place)
    graph = export(model, x=Tensor((1, *check.images.shape[1:]), "float32"))
    engines = ["interp", "host:ref", "host", "host:avx512vnni", "epu_host", "iss"]
    total = 0
    with tempfile.TemporaryDirectory(prefix="opencgc-bench-") as folder:
        module = graph.compile("resnet18", HWConfig.preset(HARDWARE), folder)
        for engine in engines:
            count = check.simulated if engine == "iss" else len(check.images)
            run = graph.run if engine == "interp" else module.run
            result = compare(run, engine, check.images[:count], wanted[:count])
            print(f", differing bytes: {result}", flush=True)
            total += int(result) if result.isdigit() else 0
    return total


def make_checks(arguments: argparse.Namespace) -> list[Check]:
    """Return the networks with their images."""
    images, labels = load_digits()
    held_out = slice(TRAIN, TRAIN + arguments.digits)
    checks = []
    if arguments.digits:
        checkpoint = trained_checkpoint(ROOT / "build" / "demo" / "resnet18_digits.pt", images, labels)
        model = new_model().eval()
        model.load_state_dict(torch.load(checkpoint, weights_only=True))
        calibration = list(images[:TRAIN].split(50)[:20])
        truth = labels[held_out].numpy()
        checks.append(Check("digits 32x32", model, calibration, images[held_out], arguments.simulated, truth))
    if arguments.images:
        model, origin = load_network(NETWORKS["resnet18"])
        print(f"ResNet-18 at 224x224: {origin}; the images are digits made larger")
        large = functional.interpolate(images[: 4 + arguments.images], size=(224, 224), mode="bilinear")
        simulated = arguments.simulated_images
        checks.append(Check("224x224", model, [large[:4]], large[4:], simulated))
    return checks


def main() -> int:
    """Run everything and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--digits", type=int, default=1000, help="at most 1000, 0 leaves them out")
    parser.add_argument("--simulated", type=int, default=100, help="of the digits")
    parser.add_argument("--images", type=int, default=8, help="of 224x224, 0 leaves them out")
    parser.add_argument("--simulated-images", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    total, faults = 0, []
    for check in make_checks(arguments):
        for per_channel in (False, True):
            total += run_check(check, per_channel=per_channel)
        faults += check.faults
    print(f"differing bytes: {total}")
    for fault in faults:
        print(f"wrong: {fault}", file=sys.stderr)
    return 1 if total or faults else 0


if __name__ == "__main__":
    sys.exit(main())
