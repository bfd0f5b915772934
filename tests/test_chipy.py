# SPDX-License-Identifier: Apache-2.0
"""ChiPy: the printed form of the small reference model, structure, names, sharing, error texts in full."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opencgc
from opencgc import errors

torch = pytest.importorskip("torch")
from torch import nn

from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import (
    fold_batchnorm,
    freeze_model_weights,
    generate_quant_config,
    quantize_model,
)
from tvm.contrib.epu import chipy
from tvm.contrib.epu.chipy import Tensor, export, registry


def quantized(model: nn.Module, *shape: int, per_channel: bool = False, fold: bool = True) -> nn.Module:
    """Take a float model through every step up to export, calibrated on random data."""
    model = model.eval()
    if fold:
        fold_batchnorm(model)
    tag_all_modules(model)
    config = generate_quant_config(model)
    config["defaults"].update(int8_matmul=True, quantize_output=True, w_per_channel=per_channel)
    quantize_model(model, config)
    generator = torch.Generator().manual_seed(1)
    run_calibration(model, [torch.randn(4, *shape[1:], generator=generator) for _ in range(3)], num_batches=3)
    freeze_model_weights(model)
    return model


def image(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


class ConvLinear(nn.Module):
    def __init__(self, *, batchnorm: bool = False):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8) if batchnorm else nn.Identity()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(torch.relu(self.bn(self.conv(x)))), 1))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 3, 3, padding=1)
        self.b = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x):
        a = torch.relu(self.a(x))
        return torch.relu(a + self.b(a))


X = Tensor(shape=(1, 3, 8, 8), dtype="float32")

REFERENCE_FORM = """\
def @main(%x: Tensor[(1, 3, 8, 8), float32], output_names=["out_0"]) {
  %0 = qnn.quantize(%x, 1f, 1, out_dtype="int8");
  %1 = contrib.epu.qlinear_conv2d(%0, meta[relay.Constant][0], bias=meta[relay.Constant][1],
         padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], out_dtype="int8",
         bias_fusion=True, x_zero_point=1, x_scale=1f, w_zero_point=0,
         w_scale=2f, y_zero_point=3, y_scale=3f);
  %2 = qnn.dequantize(%1, 3f, 3);
  %3 = nn.relu(%2);
  %4 = nn.global_avg_pool2d(%3);
  %5 = reshape(%4, newshape=[1, 8]);
  %6 = qnn.quantize(%5, 4f, 4, out_dtype="int8");
  %7 = contrib.epu.dense(%6, meta[relay.Constant][2], meta[relay.Constant][3], units=4,
         x_scale=4f, x_zero_point=4, w_scale=5f,
         y_scale=6f, y_zero_point=6, out_dtype="int8");
  qnn.dequantize(%7, 6f, 6)
}
"""


def with_numbers(template: str, model: nn.Module) -> str:
    """Put the model's own scales into the template: n stands for the n-th quantization on the way."""
    conv, fc = model.conv, model.fc
    activations = {1: (conv, "x"), 3: (conv, "y"), 4: (fc, "x"), 6: (fc, "y")}
    scales = {n: getattr(layer, f"{side}_scale").item() for n, (layer, side) in activations.items()}
    scales |= {2: conv.w_scale.item(), 5: fc.w_scale.item()}
    points = {n: int(getattr(layer, f"{side}_zero_point")) for n, (layer, side) in activations.items()}
    text = re.sub(r"\b(\d)f\b", lambda m: f"{np.float32(scales[int(m[1])])!s}f", template)
    text = re.sub(r"([xy]_zero_point=)(\d)", lambda m: f"{m[1]}{points[int(m[2])]}", text)
    return re.sub(r"(quantize\(%\w+, [^,]+, )(\d)", lambda m: f"{m[1]}{points[int(m[2])]}", text)


def test_the_small_model_prints_in_the_reference_form():
    model = quantized(ConvLinear(), 1, 3, 8, 8)
    printed = str(export(model, x=X))
    assert printed.split() == with_numbers(REFERENCE_FORM, model).split()


def test_the_small_model_breaks_lines_as_the_reference_does():
    printed = str(export(quantized(ConvLinear(), 1, 3, 8, 8), x=X))
    lines = [
        [re.sub(r"-?[\d.]+(e-\d+)?f?", "n", line) for line in text.splitlines()]
        for text in (printed, REFERENCE_FORM)
    ]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("per_channel", [False, True])
def test_the_graph_has_the_modules_bytes(per_channel):
    for made in (ConvLinear(), ConvLinear(batchnorm=True), Residual()):
        model = quantized(made, 1, 3, 8, 8, per_channel=per_channel)
        x = image(1, 3, 8, 8)
        result = export(model, x=X).run({"x": x.numpy()})["out_0"]
        assert result.tobytes() == model(x).detach().numpy().tobytes()


def test_per_channel_scales_are_constants():
    model = quantized(ConvLinear(), 1, 3, 8, 8, per_channel=True)
    assert re.search(r"w_scale=meta\[relay\.Constant\]\[\d\]", str(export(model, x=X)))


def test_layers_are_named_by_module_path():
    text = export(quantized(Residual(), 1, 3, 8, 8), x=X).format(layers=True)
    assert 'layer="a"' in text
    assert 'layer="b"' in text


def test_a_value_used_twice_is_quantized_once():
    text = str(export(quantized(Residual(), 1, 3, 8, 8), x=X))
    quantizations = re.findall(r"qnn\.quantize\((%\w+), (\S+f), (-?\d+)", text)
    assert len(quantizations) == len(set(quantizations))


def with_float_fc() -> nn.Module:
    model = ConvLinear().eval()
    tag_all_modules(model)
    config = generate_quant_config(model)
    config["layers"]["fc"] = {"quantize": False}
    quantize_model(model, config)
    run_calibration(model, [image(2, 3, 8, 8)], num_batches=1)
    freeze_model_weights(model)
    return model


def test_a_float_layer_stays_float():
    model = with_float_fc()
    x = image(1, 3, 8, 8)
    graph = export(model, x=X)
    assert "nn.dense(" in str(graph)
    assert graph.run({"x": x.numpy()})["out_0"].tobytes() == model(x).detach().numpy().tobytes()


def test_nested_outputs_are_flattened_in_order():
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, x, scale=2, extra=None):
            y = torch.relu(self.conv(x))
            return {"a": y, "b": (x, [torch.flatten(y, 1)])}

    graph = export(quantized(Nested(), 1, 3, 8, 8), x=X)
    assert graph.outputs == {
        "out_0": ((1, 4, 8, 8), "float32"),
        "out_1": ((1, 3, 8, 8), "float32"),
        "out_2": ((1, 256), "float32"),
    }


def test_two_inputs_keep_their_names():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.left = nn.Conv2d(3, 4, 1)
            self.right = nn.Conv2d(3, 4, 1)

        def forward(self, image, mask):
            return self.left(image) + self.right(mask)

    model = Two().eval()
    tag_all_modules(model)
    quantize_model(model, generate_quant_config(model))
    batch = {"image": image(2, 3, 8, 8), "mask": image(2, 3, 8, 8) * 3}
    run_calibration(model, [batch], num_batches=1)
    freeze_model_weights(model)
    graph = export(model, mask=X, image=X)
    assert list(graph.inputs) == ["image", "mask"]
    values = {"image": image(1, 3, 8, 8), "mask": image(1, 3, 8, 8) - 1}
    wanted = model(**values).detach().numpy()
    got = graph.run({name: value.numpy() for name, value in values.items()})["out_0"]
    assert got.tobytes() == wanted.tobytes()


def test_a_layer_called_twice_shares_its_constants():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 3, padding=1)

        def forward(self, x):
            return self.conv(self.conv(x))

    text = str(export(quantized(Twice(), 1, 3, 8, 8), x=X))
    weights = re.findall(r"qlinear_conv2d\(%\d+, meta\[relay\.Constant\]\[(\d)\]", text)
    assert weights == ["0", "0"]


def test_a_checkpoint_exports_without_a_first_forward():
    trained = quantized(ConvLinear(), 1, 3, 8, 8)
    fresh = ConvLinear().eval()
    tag_all_modules(fresh)
    config = generate_quant_config(fresh)
    config["defaults"].update(int8_matmul=True, quantize_output=True, w_per_channel=False)
    quantize_model(fresh, config)
    fresh.load_state_dict(trained.state_dict())
    assert str(export(fresh, x=X)) == str(export(trained, x=X))


def test_onnx_is_not_imported():
    code = (
        "import sys, test_chipy as t; t.export(t.quantized(t.ConvLinear(), 1, 3, 8, 8), x=t.X)\n"
        "sys.exit(any(name.split('.')[0] == 'onnx' for name in sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == 0


def test_every_converter_file_registers_its_name():
    known = registry.names()
    assert {"aten.view.default", "aten.add.Tensor", "opencgc.qconv2d.default"} <= set(known)


# ---- errors, in full ----


def message(function, *args, **kwargs) -> str:
    with pytest.raises(opencgc.Error) as caught:
        function(*args, **kwargs)
    return str(caught.value)


def test_no_converter_names_operator_layer_and_nearest():
    class Exotic(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Sequential(nn.Conv2d(3, 3, 1), nn.Softplus())

        def forward(self, x):
            return self.block(x)

    text = message(export, quantized(Exotic(), 1, 3, 8, 8), x=X)
    assert re.fullmatch(
        r"error\[E_OP\] layer 'block\.1' \(aten\.softplus\.default\): no converter; "
        r"found aten\.softplus\.default in Softplus at test_chipy\.py:\d+, "
        r"wanted a supported operator\n"
        r"  cure: replace the operator in the model by one of docs/operators\.md, 'From PyTorch', or add a "
        r"converter with its full name to python/tvm/contrib/epu/chipy/aten/",
        text,
    )
    root = Path(__file__).parent.parent
    assert (root / registry.SOURCES / "add_tensor.py").exists()
    assert "## From PyTorch" in (root / "docs/operators.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("aten.gelu.default", " (nearest: aten.relu.default)"),
        ("aten.add.Scalar", " (nearest: aten.add.Tensor)"),
        ("aten.conv1d.default", " (nearest: aten.conv2d.default)"),
        ("aten.sigmoid.default", ""),
        ("aten.softmax.int", ""),
        ("aten.cat.default", ""),
        ("mine.op", ""),
    ],
)
def test_nearest_names_are_near(name, nearest):
    with pytest.raises(errors.OperatorError) as caught:
        registry.find(name, "a")
    assert caught.value.wanted == f"a supported operator{nearest}"


class Scalars(nn.Module):
    """Sums with numbers behind, between and before quantized layers."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 3, 1)
        self.b = nn.Conv2d(3, 3, 1)

    def forward(self, x):
        y = self.b(self.a(x + 1) + 0.1)
        return y, 1.5 + y, y.add_(-3)


def test_a_sum_with_a_number_has_pytorchs_bytes_on_every_engine():
    model = quantized(Scalars(), 1, 3, 8, 8)
    graph = export(model, x=X)
    x = image(1, 3, 8, 8)
    with torch.no_grad():
        wanted = model(x)
    found = graph.run({"x": x.numpy()}).values()
    for one, other in zip(found, wanted, strict=True):
        assert one.tobytes() == other.numpy().tobytes()
    proof = graph.prove({"x": x.numpy()})
    assert proof, proof.text


def test_a_sum_with_alpha_names_layer_and_line():
    class Alpha(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 1)

        def forward(self, x):
            return torch.add(self.conv(x), 1, alpha=3)

    text = message(export, quantized(Alpha(), 1, 3, 8, 8), x=X)
    assert re.search(r"found 3 at \w+\.py:\d+, wanted 1\n  cure: multiply in the model", text)


def test_detach_is_nothing():
    class Detached(ConvLinear):
        def forward(self, x):
            y = self.pool(torch.relu(self.conv(x)).detach()).detach_()
            return self.fc(torch.flatten(y, 1)).detach()

    plain, detached = ConvLinear(), Detached()
    detached.load_state_dict(plain.state_dict())
    texts = [str(export(quantized(model, 1, 3, 8, 8), x=X)) for model in (plain, detached)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("package", ["quadric_pyquant", "tvm.contrib.epu.chipy"])
def test_without_torch_the_cure_is_the_extra(package):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        f"import opencgc\ntry:\n    import {package}\n"
        "except ImportError as error:\n    assert isinstance(error, opencgc.Error); print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout == (
        f"error[E_FILE] {package} needs what a plain installation leaves out; found no torch, "
        "wanted torch, tqdm\n"
        '  cure: pip install -e ".[qq-core]" in the folder of the sources\n'
    )


def test_an_undeclared_input():
    assert message(export, ConvLinear().eval(), y=X) == (
        "error[E_ARGUMENT] a parameter of forward() is not declared: x; found y, wanted forward(x)\n"
        "  cure: export(model, x=Tensor(shape=..., dtype=...))"
    )


def test_an_input_that_forward_does_not_have():
    assert message(export, ConvLinear().eval(), x=X, y=X) == (
        "error[E_ARGUMENT] forward() has no such parameter: y; found x, y, wanted forward(x)\n"
        "  cure: export(model, x=Tensor(shape=..., dtype=...))"
    )


def test_an_input_that_is_not_a_tensor_declaration():
    assert message(export, ConvLinear().eval(), x=np.zeros(3)) == (
        "error[E_ARGUMENT] input 'x' is not declared as a Tensor; found ndarray, "
        'wanted Tensor(shape=(...), dtype="...")\n'
        '  cure: export(model, x=Tensor(shape=(1, 3, 224, 224), dtype="float32"))'
    )


def test_a_wrong_shape_names_the_layer_that_stopped():
    model = quantized(ConvLinear(), 1, 3, 8, 8)
    text = message(export, model, x=Tensor(shape=(1, 4, 8, 8)))
    assert text.startswith("error[E_TYPE] layer 'conv': the model does not run on the declared x: ")
    assert (
        "found x=Tensor(shape=(1, 4, 8, 8), dtype='float32'), wanted shapes and dtypes that forward() takes"
        in text
    )


@pytest.mark.parametrize("shape", [(1, 0, 3), (1, -1), ("a",), (1.5,)])
def test_an_unusable_shape(shape):
    with pytest.raises(errors.TensorTypeError, match="unusable shape"):
        Tensor(shape=shape)


def test_an_unknown_dtype():
    with pytest.raises(errors.TensorTypeError, match="unusable dtype; found float31"):
        Tensor(shape=(1,), dtype="float31")


def test_a_branch_on_values_is_explained():
    class Branch(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, x):
            y = self.conv(x)
            return y if y.sum() > 0 else -y

    text = message(export, quantized(Branch(), 1, 3, 8, 8), x=X)
    assert "forward() decides by the values of a tensor" in text
    assert "cure: write the choice with torch.where, or move it out of the model" in text


def test_an_unfolded_batchnorm_names_the_cure():
    def quantize_and_export() -> None:
        export(quantized(ConvLinear(batchnorm=True), 1, 3, 8, 8, fold=False), x=X)

    text = message(quantize_and_export)
    assert "'bn'" in text
    assert "fold_batchnorm" in text


def test_a_model_that_is_not_one():
    assert message(export, "resnet18", x=X) == (
        "error[E_ARGUMENT] export() takes a PyTorch model; found str, wanted torch.nn.Module"
    )


def test_strict_makes_notes_errors():
    model = with_float_fc()
    with chipy.options(strict=True):
        graph = export(model, x=X)
    with pytest.raises(errors.StrictError):
        graph.run({"x": image(1, 3, 8, 8).numpy()}, engine="host")


NOT_READY = [
    (
        {},
        "none",
        "error[E_QUANT] layer 'conv' (QConv2d): the layer is not calibrated; "
        "found calibrated=False, wanted calibrated=True\n  cure: call run_calibration(model, loader)",
    ),
    (
        {},
        "calibrated",
        "error[E_QUANT] layer 'conv' (QConv2d): the layer's weights are not frozen; "
        "found frozen=False, wanted frozen=True\n  cure: call freeze_model_weights(model) after calibration",
    ),
    (
        {"quantize_output": False},
        "frozen",
        "error[E_QUANT] layer 'conv' (QConv2d): the layer's output has no scale (quantize_output); "
        "found quantize_output=False, wanted quantize_output=True\n"
        '  cure: set config["defaults"]["quantize_output"] = True, '
        'and in config["layers"]["conv"] where it stands there, and quantize again',
    ),
    (
        {"int8_matmul": False},
        "frozen",
        "error[E_QUANT] layer 'conv' (QConv2d): the layer is not on the integer path (int8_matmul); "
        "found int8_matmul=False, wanted int8_matmul=True\n"
        '  cure: set config["defaults"]["int8_matmul"] = True, '
        'and in config["layers"]["conv"] where it stands there, and quantize again',
    ),
]


@pytest.mark.parametrize(("defaults", "done", "text"), NOT_READY)
def test_export_stops_at_the_first_layer_that_is_not_ready(defaults, done, text):
    model = ConvLinear().eval()
    tag_all_modules(model)
    config = generate_quant_config(model)
    config["defaults"].update(defaults)
    quantize_model(model, config)
    if done != "none":
        run_calibration(model, [image(2, 3, 8, 8)], num_batches=1)
    if done == "frozen":
        freeze_model_weights(model)
    assert message(export, model, x=X) == text
