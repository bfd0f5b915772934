# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-18, quantized: the same bytes on every engine, layer by layer equal to the reference.

At 32x32 and 224x224, per tensor and per output channel: the PyTorch int8 module, the interpreter, every
variant of the host program, the EPU text on the host, and the simulator, which finds no race. Weights are
seeded: bytes are compared, not accuracy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
opencgc = pytest.importorskip("opencgc")
lowered = pytest.importorskip("lowered")
pytest.importorskip("ziglang", reason="the cross compiler (PyPI package ziglang) is not installed")
pytestmark = pytest.mark.slow
LAYERS = 30  # 20 convolutions, 8 sums, pools, fc: no engine may show fewer
BOTH = pytest.mark.parametrize("network", [False, True], ids=["per tensor", "per channel"], indirect=True)
IMAGES = {32: 100, 224: 2}
ENGINES = {  # images that each engine computes
    32: {"host": 100, "host:ref": 20, "host:avx512vnni": 100, "epu_host": 5, "iss": 3, "iss:race": 1},
    224: {"host": 2, "host:ref": 1, "host:avx512vnni": 2, "epu_host": 1, "iss": 2, "iss:race": 1},
}


class Network(NamedTuple):
    size: int
    model: Any
    graph: Any
    module: Any


def quantized(size: int, *, per_channel: bool) -> Any:
    """A seeded, calibrated ResNet-18 for images of size x size."""
    from quadric_pyquant import calibration, model_conversion

    torch.manual_seed(3)
    model = torchvision.models.resnet18(weights=None, num_classes=10).eval()
    model_conversion.fold_batchnorm(model)
    calibration.tag_all_modules(model)
    config = model_conversion.generate_quant_config(model)
    config["defaults"].update(int8_matmul=True, quantize_output=True, w_per_channel=per_channel)
    model_conversion.quantize_model(model, config)
    calibration.run_calibration(model, [torch.randn(2, 3, size, size)], num_batches=1, progress=False)
    model_conversion.freeze_model_weights(model)
    model_conversion.validate_model_export_ready(model)
    return model


def make_network(size: int, *, per_channel: bool, folder: Path) -> Network:
    from tvm.contrib.epu.chipy import Tensor, export

    model = quantized(size, per_channel=per_channel)
    graph = export(model, x=Tensor((1, 3, size, size), "float32"))
    return Network(size, model, graph, graph.compile("resnet18", build_path=folder))


@pytest.fixture(scope="module")
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Network:
    return make_network(32, per_channel=request.param, folder=tmp_path_factory.mktemp("resnet18"))


def images(size: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(IMAGES[size], 3, size, size)).astype(np.float32)


def only(outputs: dict[str, np.ndarray]) -> np.ndarray:
    (value,) = outputs.values()
    return value


def differing(wanted: np.ndarray, found: np.ndarray) -> int:
    assert wanted.shape == found.shape
    assert wanted.dtype == found.dtype
    return int(np.count_nonzero(wanted.view(np.uint8) != found.view(np.uint8)))


def usable(engine: str) -> bool:
    if engine != "host:avx512vnni":
        return True
    return "avx512_vnni" in Path("/proc/cpuinfo").read_text()


def compare_outputs(network: Network) -> None:
    """Every engine against the PyTorch int8 module."""
    batch = images(network.size)
    with torch.no_grad():
        wanted = [network.model(torch.from_numpy(image[None])).numpy() for image in batch]
    assert len({w.tobytes() for w in wanted}) == len(batch)  # the images tell
    counts = {"interp": len(batch), **ENGINES[network.size]}
    found = {}
    for engine, count in counts.items():
        if not usable(engine):
            continue
        run = network.graph.run if engine == "interp" else network.module.run
        found[engine] = sum(
            differing(w, only(run({"x": image[None]}, engine)))
            for w, image in zip(wanted[:count], batch[:count], strict=True)
        )
    assert found == dict.fromkeys(found, 0)


def compare_layers(module: Any, x: np.ndarray, engine: str, wanted: dict[str, np.ndarray]) -> None:
    compared = 0
    for layer in module.layer_values({"x": x}, engine):
        if layer.array is None or layer.value not in wanted:
            continue
        assert np.array_equal(layer.array, wanted[layer.value]), f"{engine}: {layer.name} ({layer.value})"
        compared += 1
    assert compared >= LAYERS, f"{engine} showed {compared} layers"


@BOTH
def test_outputs_at_32(network: Network) -> None:
    compare_outputs(network)


@BOTH
def test_every_layer_at_32(network: Network, tmp_path: Path) -> None:
    x = images(32)[:1]
    wanted = lowered.lowered_values(network.graph, x, tmp_path / "lowered.cgc")
    assert np.array_equal(only(network.graph.run({"x": x})), list(wanted.values())[-1])
    for engine in ("host:ref", "host", "epu_host", "iss"):
        compare_layers(network.module, x, engine, wanted)


@pytest.mark.parametrize("per_channel", [False, True], ids=["per tensor", "per channel"])
def test_outputs_and_layers_at_224(tmp_path: Path, *, per_channel: bool) -> None:
    network = make_network(224, per_channel=per_channel, folder=tmp_path)
    compare_outputs(network)
    report = network.module.report.json  # of the last run on the simulator
    assert all(layer["mac_utilization"] <= 1 for layer in report["layers"])
    assert all(layer["cycles"] >= layer["roofline_cycles"] for layer in report["layers"])
    assert sum(layer["cycles"] for layer in report["layers"]) == report["total"]["cycles"]
    x = images(224)[:1]
    wanted = lowered.lowered_values(network.graph, x, tmp_path / "lowered.cgc")
    for engine in ("host", "iss"):
        compare_layers(network.module, x, engine, wanted)
