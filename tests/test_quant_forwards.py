# SPDX-License-Identifier: Apache-2.0
"""Forwards with optional arguments, and zero pads: traced as they are really called."""

from __future__ import annotations

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
from quant_models import images, prepared, quantized, shake_batchnorm, sqnr_db
from torch import nn
from torch.nn import functional

from quadric_pyquant.model_conversion import fold_batchnorm, quantize_model
from quadric_pyquant.modules import FloatConv2d, PaddedConv2d, QAdd, QConv2d
from quadric_pyquant.notes import QuantizationWarning

# ---- optional arguments ----


class Optional(nn.Module):
    """The block of DLA (an optional tensor) and of EfficientNet (an optional number)."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2)

    def forward(self, x, residual=None, rate=None):
        if residual is None:
            residual = x
        x = self.bn(self.conv(x))
        if rate:
            x = functional.dropout(x, rate, training=self.training)
        return x + residual


class Caller(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.block, self.call = Optional(), call

    def forward(self, x):
        return self.call(self.block, x)


def default_only(block, x):
    return block(block(x))


def number(block, x):
    return block(x, rate=0.25)


def tensor(block, x):
    return block(x, 2 * x)


def tensor_and_number(block, x):
    return block(x, rate=0.5, residual=2 * x)


@pytest.mark.parametrize("call", [default_only, number, tensor, tensor_and_number])
def test_the_branch_that_is_taken_is_traced(call):
    model, batches = shake_batchnorm(Caller(call)), images(1, 2, 5, 5)
    wanted = [model(x) for x in batches]
    quantized(model, batches)
    assert isinstance(model.block.add, QAdd)
    assert model.block.add.stage == "integer"
    assert not [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    assert min(sqnr_db(w, model(x)) for w, x in zip(wanted, batches, strict=True)) > 28


def test_calls_that_differ_leave_the_forward_alone():
    model, x = shake_batchnorm(Caller(lambda block, x: block(x) + block(x, 2 * x))), images(1, 2, 5, 5)[0]
    wanted = model(x)
    fold_batchnorm(model)
    with pytest.warns(QuantizationWarning, match="'block'.*its calls pass different kinds of 'residual'"):
        quantize_model(model)
    assert torch.allclose(model(x), wanted, atol=1e-5)


def test_another_value_runs_the_original_forward():
    model, x = Optional().eval(), images(1, 2, 5, 5)[0]
    wanted, other = model(x), model(x, 3 * x, rate=0.5)
    prepared(model)
    assert hasattr(model, "add")
    for module in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 - our own
        assert torch.allclose(module(x), wanted, atol=1e-5)
        assert torch.allclose(module(x, None), wanted, atol=1e-5)
        assert torch.allclose(module(x, 3 * x, rate=0.5), other, atol=1e-5)
        assert torch.allclose(module(x, rate=0.5, residual=3 * x), other, atol=1e-5)


class Starred(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, *, twice=False, **rest):
        y = self.fc(x) + x
        return y * 2 if twice else y


class Gathered(Starred):
    """fx cannot write keyword-only parameters behind *args: forward stays."""

    def forward(self, x, *more, twice=False):
        y = self.fc(x) + x
        return y * 2 if twice else y


@pytest.mark.parametrize("kind", [Starred, Gathered])
def test_keyword_only_arguments(kind):
    model, x = kind().eval(), images(1, 3)[0]
    wanted = model(x), model(x, twice=True)
    prepared(model)
    assert hasattr(model, "add") == (kind is Starred)
    assert torch.equal(model(x), wanted[0])
    assert torch.equal(model(x, twice=True), wanted[1])
    extra = {"other": 1} if kind is Starred else {}
    assert torch.equal(model(x, twice=True, **extra), wanted[1])


# ---- zero pads ----


class Functional(nn.Module):
    def __init__(self, pad, **options):
        super().__init__()
        self.pad, self.options, self.conv = pad, options, nn.Conv2d(2, 3, 3, stride=2)

    def forward(self, x):
        return self.conv(functional.pad(x, self.pad, **self.options))


class SameConv(nn.Conv2d):
    """A convolution class of another framework's port."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.static_padding = nn.ZeroPad2d((0, 1, 0, 1))

    def forward(self, x):
        x = self.static_padding(x)
        return functional.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


PADDED = {
    "module": nn.Sequential(nn.ZeroPad2d((0, 1, 2, 1)), nn.Conv2d(2, 3, 3, stride=2)),
    "constant module": nn.Sequential(nn.ConstantPad2d(1, 0.0), nn.Conv2d(2, 3, 3, padding=1)),
    "two modules": nn.Sequential(nn.ZeroPad2d(1), nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(2, 3, 3)),
    "function": Functional([0, 1, 0, 1]),
    "function, width only": Functional((2, 1), mode="constant", value=0),
    "class": nn.Sequential(SameConv(2, 3, 3, stride=2)),
    "same": nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(2, 3, 4, padding="same")),
}


@pytest.mark.parametrize("name", PADDED)
@pytest.mark.parametrize("quantize_it", [True, False])
def test_a_zero_pad_becomes_part_of_the_convolution(name, quantize_it):
    model, batches = copy.deepcopy(PADDED[name]), images(1, 2, 7, 7)
    wanted = [model(x) for x in batches]
    names = [n for n, m in model.named_modules() if isinstance(m, nn.Conv2d)]
    quantized(
        model, batches, {} if quantize_it else {names[0]: {"quantize": False}}
    ) if quantize_it else prepared(model, {names[0]: {"quantize": False}})
    kind = QConv2d if quantize_it else FloatConv2d
    assert [n for n, m in model.named_modules() if isinstance(m, kind)] == names
    assert not [m for m in model.modules() if isinstance(m, nn.ConstantPad2d | nn.ZeroPad2d)]
    for w, x in zip(wanted, batches, strict=True):
        assert sqnr_db(w, model(x)) > (30 if quantize_it else 120)
        graph = torch.export.export(model, (x,)).run_decompositions({}).graph
        assert "aten.constant_pad_nd.default" not in {str(n.target) for n in graph.nodes}


def test_folding_sees_through_a_convolution_class():
    model, x = (
        shake_batchnorm(nn.Sequential(SameConv(2, 3, 3, bias=False), nn.BatchNorm2d(3))),
        images(1, 2, 7, 7)[0],
    )
    wanted = model(x)
    assert fold_batchnorm(model) == 1
    assert isinstance(model[0], PaddedConv2d)
    assert torch.allclose(model(x), wanted, atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        Functional([0, 1, 0, 1], value=1.0),
        Functional([0, -1, 0, 0]),
        Functional([1, 1, 1, 1], mode="reflect"),
        nn.Sequential(nn.ZeroPad2d(1), nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect")),
        nn.Sequential(nn.ZeroPad2d((0, -1, 0, 0)), nn.Conv2d(2, 3, 3)),
        nn.Sequential(nn.ZeroPad2d(1), nn.ReLU(), nn.Conv2d(2, 3, 3)),
    ],
)
def test_other_pads_stay(model):
    batches = images(1, 2, 7, 7)
    wanted = [model(x) for x in batches]
    quantized(model, batches)
    assert next(m for m in model.modules() if isinstance(m, QConv2d)).pads in ([0] * 4, [1] * 4)
    for w, x in zip(wanted, batches, strict=True):
        assert sqnr_db(w, model(x)) > 28


class PadShared(nn.Module):
    """A pad with two readers, and a convolution behind a pad and without one."""

    def __init__(self):
        super().__init__()
        self.pad, self.a, self.b = nn.ZeroPad2d(1), nn.Conv2d(2, 2, 3), nn.Conv2d(2, 2, 3)

    def forward(self, x):
        y = self.pad(x)
        return self.a(y), y * 2, self.b(self.pad(x)), self.b(x)


def test_pads_and_convolutions_with_other_readers_stay():
    model, batches = PadShared(), images(1, 2, 7, 7)
    wanted = model(batches[0])
    quantized(model, batches)
    assert model.a.pads == model.b.pads == [0] * 4
    assert all(sqnr_db(w, g) > 28 for w, g in zip(wanted, model(batches[0]), strict=True))
