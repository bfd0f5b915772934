# SPDX-License-Identifier: Apache-2.0
"""generate_quant_config and quantize_model: structure changes, values do not; settings; what stays float."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
from quant_models import Block, SmallResNet, images, prepared, quantized, shake_batchnorm, sqnr_db
from torch import nn
from torch.nn import functional

from opencgc.errors import ArgumentError, QuantizationError, TensorTypeError
from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import (
    fold_batchnorm,
    freeze_model_weights,
    generate_quant_config,
    quantize_model,
)
from quadric_pyquant.modules import FloatAdd, FloatConv2d, QAdd, QAvgPool2d, QConv2d, QLinear, QuantModule
from quadric_pyquant.notes import QuantizationWarning


def kinds(model: nn.Module) -> dict[str, str]:
    return {n: type(m).__name__ for n, m in model.named_modules() if isinstance(m, QuantModule)}


def test_the_residual_network_becomes_quantized_in_place():
    model = shake_batchnorm(SmallResNet())
    x = images(2, 3, 8, 8, count=1)[0]
    before = model(x)
    block, keys = model.layer1[0], set(model.state_dict())
    assert prepared(model) is model
    assert model.layer1[0] is block
    assert isinstance(block, Block)
    assert isinstance(block.conv1, QConv2d)
    assert isinstance(block.add, QAdd)
    assert isinstance(model.avgpool, QAvgPool2d)
    assert isinstance(model.fc, QLinear)
    assert block.add.layer_name == "layer1.0.add"
    assert torch.allclose(model(x), before, rtol=1e-4, atol=1e-5)
    assert {k for k in keys if "bn" not in k and "downsample.1" not in k} <= set(model.state_dict())


def test_a_config_lists_the_layers_to_come_and_leaves_the_model():
    model = shake_batchnorm(SmallResNet())
    fold_batchnorm(model)
    tag_all_modules(model)
    config = generate_quant_config(model)
    assert list(config["layers"]) == [
        "conv1",
        "layer1.0.conv1",
        "layer1.0.conv2",
        "layer1.0.add",
        "layer1.1.conv1",
        "layer1.1.conv2",
        "layer1.1.downsample.0",
        "layer1.1.add",
        "avgpool",
        "fc",
    ]
    assert not hasattr(model.layer1[0], "add")
    assert type(model.conv1) is nn.Conv2d


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.weight = nn.Parameter(torch.randn(4, 6, 6))

    def forward(self, x):
        y = self.conv(x)
        y = torch.add(y, functional.relu(y))
        y = y.add(self.weight)
        y = y + y
        y = functional.avg_pool2d(y, 2, stride=2, padding=1, count_include_pad=False)
        z = y.mean(dim=(2, 3)) + functional.adaptive_avg_pool2d(y, 1).flatten(1)
        z += torch.mean(y, [-2, -1])
        return z + 1.0


def test_functional_sums_and_averages_become_children():
    model = Functional().eval()
    x = images(2, 3, 6, 6, count=1)[0]
    before = model(x)
    prepared(model)
    assert kinds(model) == {
        "conv": "QConv2d",
        "add": "QAdd",
        "add_1": "QAdd",
        "add_2": "QAdd",
        "avg_pool": "QAvgPool2d",
        "avg_pool_1": "QAvgPool2d",
        "avg_pool_2": "QAvgPool2d",
        "add_3": "QAdd",
        "avg_pool_3": "QAvgPool2d",
        "add_4": "QAdd",
    }
    assert torch.allclose(model(x), before, rtol=1e-5, atol=1e-6)


def test_sums_of_sizes_and_scaled_sums_stay():
    class Sizes(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            n = x.shape[0] + x.size(1)
            return torch.add(self.fc(x), x, alpha=2) * n

    model = Sizes().eval()
    with pytest.warns(QuantizationWarning, match="add in the model's own forward"):
        quantize_model(model)
    assert kinds(model) == {"fc": "QLinear"}


class InPlace(nn.Module):
    """The in-place sum changes memory that another name reads afterwards."""

    def __init__(self, case: str):
        super().__init__()
        self.case, self.conv, self.act = case, nn.Conv2d(2, 2, 3, padding=1), nn.ReLU(inplace=True)

    def forward(self, x):
        h = self.conv(x)
        if self.case == "read again by name":
            h += x
            return h, h * 2
        if self.case == "old name read again":
            y = h
            y += x
            return y, h * 2
        if self.case == "view":
            v = h.view(h.shape)
            h += x
            return h, v * 2
        if self.case == "input":
            x += h
            return x, h
        y = self.act(h)
        y += x
        return y, h * 2


@pytest.mark.parametrize("case", ["read again by name", "old name read again", "view", "input", "relu"])
def test_in_place_sums_keep_their_meaning(case):
    model = InPlace(case).eval()
    x = images(1, 2, 5, 5, count=1)[0]
    before = model(x.clone())
    prepared(model)
    assert hasattr(model, "add") == case.startswith(("read", "old"))
    assert all(torch.equal(a, b) for a, b in zip(model(x.clone()), before, strict=True))


def test_an_in_place_relu_before_a_residual_keeps_its_meaning():
    class Act(nn.Module):
        def __init__(self):
            super().__init__()
            self.c1, self.c2 = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
            self.act = nn.ReLU(inplace=True)

        def forward(self, x):
            h = self.c1(x)
            return self.c2(self.act(h)) + h

    model, batches = Act(), images(2, 3, 6, 6)
    wanted = [model(x) for x in batches]
    quantized(model, batches)
    assert min(sqnr_db(w, model(x)) for w, x in zip(wanted, batches, strict=True)) > 30
    assert model.add.b_scale == model.c2.x_scale == model.c1.y_scale
    assert int(model.add.b_zero_point) == -128  # the skip sees rectified values


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.block = nn.Linear(8, 8), Block(2)

    def forward(self, x, image):
        return self.fc(x), self.fc(x * 100.0), self.block(self.block(image))


def test_a_layer_called_twice_gets_two_ranges_and_one_weight():
    model = shake_batchnorm(Twice())
    x, image = images(4, 8, count=1)[0], images(1, 2, 4, 4, count=1)[0]
    wanted = model(x, image)
    quantized(model, [(x, image)])
    assert set(kinds(model)) >= {"fc", "fc_1", "block.conv1", "block_1.conv1", "block.add", "block_1.add"}
    assert model.fc.weight is model.fc_1.weight
    assert model.fc_1.layer_name == "fc_1"
    assert 90 < float(model.fc_1.x_scale / model.fc.x_scale) < 110
    assert all(sqnr_db(a, b) > 25 for a, b in zip(wanted, model(x, image), strict=True))


def test_a_layer_registered_twice_gets_two_ranges():
    conv = nn.Conv2d(2, 2, 3, padding=1)
    model = nn.Sequential(conv, nn.ReLU(), conv)
    x = images(1, 2, 5, 5, count=1)[0]
    wanted = model.eval()(x)
    quantized(model, [x])
    assert model[0] is not model[2]
    assert model[0].weight is model[2].weight
    assert sqnr_db(wanted, model(x)) > 30


def test_layers_kept_in_a_plain_list_are_quantized_too():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.order = [self.b, self.a]

        def forward(self, x):
            for layer in self.order:
                x = layer(x)
            return x

    model = Listed()
    quantized(model, images(2, 4))
    assert model.a.stage == model.b.stage == "integer"
    assert model.order[0] is model.b


def test_a_rewritten_model_copies_pickles_and_exports():
    model, batches = shake_batchnorm(SmallResNet()), images(2, 3, 8, 8)
    quantized(model, batches)
    x = batches[0]
    y = model(x)
    saved = io.BytesIO()
    torch.save(model, saved)
    saved.seek(0)
    unpickled = pickle.loads(pickle.dumps(model))  # noqa: S301 - made in the line itself
    copies = (copy.deepcopy(model), unpickled, torch.load(saved, weights_only=False))
    for other in copies:
        assert torch.equal(other(x), y)
        assert isinstance(other.layer1[0], Block)
    copies[0].layer1[0].add.y_scale.mul_(2)
    assert torch.equal(model(x), y)
    for strict in (False, True):
        program = torch.export.export(model, (x,), strict=strict).run_decompositions({})
        assert torch.equal(program.module()(x), y)
        calls = [str(n.target) for n in program.graph.nodes if str(n.target).startswith("opencgc")]
        assert calls.count("opencgc.qadd.default") == 2


# ---- settings ----


def test_layers_may_stay_float():
    model = shake_batchnorm(SmallResNet())
    batches = images(2, 3, 8, 8)
    wanted = model(batches[0])
    quantized(model, batches, {"layer1": {"quantize": False}, "layer1.1.add": {"quantize": True}})
    assert isinstance(model.layer1[0].conv1, FloatConv2d)
    assert isinstance(model.layer1[0].add, FloatAdd)
    assert isinstance(model.layer1[1].add, QAdd)
    assert sqnr_db(wanted, model(batches[0])) > 30


def test_weight_scales_per_layer_setting():
    model = nn.Sequential(nn.Conv2d(2, 4, 1), nn.Conv2d(4, 3, 1))
    prepared(model, {"1": {"w_per_channel": False}}, w_per_channel=True)
    assert [m.w_scale.shape for m in model] == [(4,), ()]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            lambda c: c["defaults"].update(int8_matmull=True),
            "error[E_ARGUMENT] config[\"defaults\"] has no setting 'int8_matmull'; found 'int8_matmull', "
            "wanted a known setting, nearest: int8_matmul\n"
            "  cure: the settings are the keys of generate_quant_config(model)['defaults']",
        ),
        (
            lambda c: c["layers"].update({"layer1.0.conv": {}}),
            "error[E_ARGUMENT] layer 'layer1.0.conv': config[\"layers\"] names a layer that the model does "
            "not have: 'layer1.0.conv'; found 'layer1.0.conv', wanted a layer name, nearest: layer1.0.conv1, "
            "layer1.0.conv2, layer1.1.conv2\n"
            "  cure: use the names in generate_quant_config(model)['layers']",
        ),
        (
            lambda c: c["layers"]["fc"].update(quantise=False),
            "error[E_ARGUMENT] layer 'fc': config[\"layers\"][\"fc\"] has no setting 'quantise'; "
            "found 'quantise', wanted a known setting, nearest: quantize, quantize_output\n"
            "  cure: the settings are the keys of generate_quant_config(model)['defaults']",
        ),
        (
            lambda c: c["defaults"].update(quantize="no"),
            "error[E_ARGUMENT] config[\"defaults\"]['quantize'] has an unusable value; found 'no', "
            "wanted True or False\n  cure: the default is True",
        ),
        (
            lambda c: c["defaults"].update(range="max"),
            "error[E_ARGUMENT] config[\"defaults\"]['range'] has an unusable value; found 'max', "
            "wanted 'minmax' or 'percentile' or 'mse'\n  cure: the default is 'minmax'",
        ),
        (
            lambda c: c.update(default={}),
            "error[E_ARGUMENT] config has no section 'default'; found 'default', wanted defaults or layers\n"
            "  cure: take the configuration from generate_quant_config(model) and change its entries",
        ),
    ],
)
def test_errors_of_the_configuration(change, text):
    model = shake_batchnorm(SmallResNet())
    fold_batchnorm(model)
    tag_all_modules(model)
    config = generate_quant_config(model)
    change(config)
    with pytest.raises(ArgumentError) as caught:
        quantize_model(model, config)
    assert str(caught.value) == text


def test_models_that_cannot_be_quantized():
    with pytest.raises(
        QuantizationError, match=r"no layer that can be quantized; found modules: ReLU, Sequential"
    ):
        quantize_model(nn.Sequential(nn.ReLU()).eval())
    with pytest.raises(
        TensorTypeError, match=r"layer '0' \(Linear\): 'weight' is not float32; found float16"
    ):
        quantize_model(nn.Sequential(nn.Linear(2, 2)).half().eval())
    with pytest.raises(TensorTypeError, match=r"layer '0' \(LazyLinear\): 'weight' has no shape yet"):
        quantize_model(nn.Sequential(nn.LazyLinear(2)).eval())
    normed = nn.Sequential(nn.utils.weight_norm(nn.Linear(2, 2))).eval()
    with pytest.raises(QuantizationError, match=r"layer '0' \(Linear\): the weight is computed on each call"):
        quantize_model(normed)
    with pytest.raises(QuantizationError, match="eval mode"):
        quantize_model(nn.Sequential(nn.Linear(2, 2)))
    model = quantize_model(nn.Sequential(nn.Linear(2, 2)).eval())
    with pytest.raises(QuantizationError, match="quantized already"):
        quantize_model(model)


def test_a_parametrized_weight_is_baked():
    layer = nn.Linear(3, 3)
    nn.utils.parametrizations.weight_norm(layer)
    model = nn.Sequential(layer).eval()
    x = images(2, 3, count=1)[0]
    wanted = model(x)
    quantize_model(model)
    assert torch.allclose(model(x), wanted)
    assert type(model[0]) is QLinear


def test_a_bare_layer_is_quantized_in_place():
    layer = nn.Linear(4, 3).eval()
    wanted = layer(images(5, 4, count=1)[0])
    quantized(layer, images(5, 4, count=1))
    assert sqnr_db(wanted, layer(images(5, 4, count=1)[0])) > 30


class Standardized(nn.Conv2d):
    def forward(self, x):
        return functional.conv2d(x, self.weight - self.weight.mean(), self.bias)


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.own = nn.Conv2d(2, 2, 1), Standardized(2, 2, 1)
        self.up, self.act = nn.ConvTranspose2d(2, 2, 2), nn.Sigmoid()

    def forward(self, x):
        y = self.up(self.act(self.own(self.conv(x))))
        if y.mean() > 0:
            y = y + 1
        return y


def test_what_stays_is_named():
    with pytest.warns(QuantizationWarning) as caught:
        quantize_model(Odd().eval())
    texts = [str(w.message) for w in caught]
    assert texts[0] == (
        "quantize_model: layers that have no quantized form stay float: "
        "'own' (Standardized), 'up' (ConvTranspose2d), 'act' (Sigmoid)"
    )
    assert "conv2d in 'own'" in texts[1]
    assert texts[2].startswith(
        "quantize_model: sums and average pools written as functions stay float where forward cannot be "
        "traced: the model's own forward (TraceError"
    )


def test_multihead_attention_is_left_alone():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attend, self.fc = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(self.attend(x, x, x, need_weights=False)[0])

    model, batches = Attention(), images(2, 3, 4)
    wanted = model.eval()(batches[0])
    quantized(model, batches)
    assert kinds(model) == {"fc": "QLinear"}
    assert sqnr_db(wanted, model(batches[0])) > 25


def test_hooks_stay():
    model, seen = nn.Sequential(nn.Linear(2, 2)).eval(), []
    model[0].register_forward_hook(lambda module, args, result: seen.append(type(module).__name__))
    quantize_model(model)
    run_calibration(model, images(3, 2), progress=False)
    freeze_model_weights(model)
    assert seen == ["QLinear"] * 3


def test_warnings_point_at_the_users_line():
    with pytest.warns(QuantizationWarning) as caught:
        quantize_model(Odd().eval())
    assert {w.filename for w in caught} == {__file__}
