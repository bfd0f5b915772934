# SPDX-License-Identifier: Apache-2.0
"""torchvision's ResNet-18, quantized: the same bytes on every engine, layer by layer equal to the reference.

At 32x32 per tensor and per channel with every layer compared; at 224x224 the outputs of every engine and
every layer of the host program. Weights are seeded: bytes are compared, not accuracy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reference import graph as reference_graph

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
opencgc = pytest.importorskip("opencgc")
if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.slow
LAYERS = 30  # 20 convolutions, 8 sums, pools, fc: no engine may show fewer


def quantized(size: int, *, per_channel: bool) -> Any:
    """Graph of a seeded, calibrated ResNet-18 at size x size."""
    from quadric_pyquant import calibration, model_conversion
    from tvm.contrib.epu.chipy import Tensor, export

    torch.manual_seed(3)
    model = torchvision.models.resnet18(weights=None, num_classes=10).eval()
    model_conversion.fold_batchnorm(model)
    calibration.tag_all_modules(model)
    config = model_conversion.generate_quant_config(model)
    config["defaults"].update(int8_matmul=True, quantize_output=True, w_per_channel=per_channel)
    model_conversion.quantize_model(model, config)
    calibration.run_calibration(model, [torch.randn(2, 3, size, size)], num_batches=1)
    model_conversion.freeze_model_weights(model)
    model_conversion.validate_model_export_ready(model)
    return export(model, x=Tensor((1, 3, size, size), "float32"))


def reference_values(graph: Any, x: np.ndarray, path: pathlib.Path) -> dict[str, np.ndarray]:
    graph.save(path)
    lowered = opencgc.load(path)
    lowered.context.check(opencgc.graph.lib.cgc_graph_run_passes(lowered.pointer, b""))
    lowered.save(path)
    constants = reference_graph.read_constants(path.with_suffix(".safetensors"))
    return reference_graph.evaluate_graph(lowered.format(layers=True), constants, {"x": x})


def compare_layers(module: Any, x: np.ndarray, engine: str, wanted: dict[str, np.ndarray]) -> None:
    compared = 0
    for layer in module.layer_values({"x": x}, engine):
        if layer.array is None or layer.value not in wanted:
            continue
        assert np.array_equal(layer.array, wanted[layer.value]), f"{engine}: {layer.name} ({layer.value})"
        compared += 1
    assert compared >= LAYERS, f"{engine} showed {compared} layers"


@pytest.mark.parametrize("per_channel", [False, True], ids=["per tensor", "per channel"])
def test_every_layer_at_32(tmp_path: pathlib.Path, *, per_channel: bool) -> None:
    graph = quantized(32, per_channel=per_channel)
    x = np.random.default_rng(1).normal(size=(1, 3, 32, 32)).astype(np.float32)
    wanted = reference_values(graph, x, tmp_path / "lowered.cgc")
    assert np.array_equal(next(iter(graph.run({"x": x}).values())), list(wanted.values())[-1])
    module = graph.compile("resnet18", build_path=tmp_path)
    for engine in ("host:ref", "host", "epu_host", "iss"):
        compare_layers(module, x, engine, wanted)


def test_proof_at_224(tmp_path: pathlib.Path) -> None:
    graph = quantized(224, per_channel=True)
    x = np.random.default_rng(1).normal(size=(1, 3, 224, 224)).astype(np.float32)
    proof = graph.prove({"x": x})
    assert proof.differing == 0, proof.text
    wanted = reference_values(graph, x, tmp_path / "lowered.cgc")
    compare_layers(graph.compile("resnet18", build_path=tmp_path), x, "host", wanted)
