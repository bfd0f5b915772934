# SPDX-License-Identifier: Apache-2.0
"""run_calibration: loaders, ranges, shared scales (rule 13), roles of average pools, errors."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
from quant_models import SmallResNet, images, prepared, quantized, shake_batchnorm, sqnr_db
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from opencgc.errors import ArgumentError, Error, QuantizationError, TensorTypeError
from quadric_pyquant.arithmetic import affine_of_range
from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import freeze_model_weights, quantize_model, validate_model_export_ready
from quadric_pyquant.modules import QAvgPool2d, QConv2d, QLinear
from quadric_pyquant.notes import QuantizationWarning
from quadric_pyquant.observe import Histogram, MinMax


def same(*ports) -> bool:
    """Return whether all (module, operand) have one scale and zero point."""
    return len({module.affine(name) for module, name in ports}) == 1


# ---- ranges and shared scales ----


def test_int8_stays_int8_through_a_residual_network():
    model = shake_batchnorm(SmallResNet())
    quantized(model, images(2, 3, 8, 8))
    first, second = model.layer1
    assert same((model.conv1, "y"), (first.conv1, "x"), (first.add, "b"))
    assert same((first.conv1, "y"), (first.conv2, "x"))
    assert same((first.conv2, "y"), (first.add, "a"))
    assert same((first.add, "y"), (second.conv1, "x"), (second.downsample[0], "x"))
    assert same((second.downsample[0], "y"), (second.add, "b"))
    assert same((second.add, "y"), (model.avgpool, "x"))
    assert same((model.avgpool, "y"), (model.fc, "x"))


def test_a_producer_needs_no_codes_for_what_relu_cuts():
    model, batches = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Conv2d(3, 2, 1)), images(2, 2, 6, 6)
    quantized(model, batches)
    with torch.no_grad():
        top = max(float(nn.functional.conv2d(x, model[0].weight, model[0].bias).max()) for x in batches)
    assert model[0].affine("y") == affine_of_range(0.0, top)
    assert model[0].affine("y").zero_point == -128


class Fork(nn.Module):
    """conv's output is read raw and behind a relu."""

    def __init__(self, *, output: bool):
        super().__init__()
        self.conv, self.a, self.b = nn.Conv2d(2, 3, 1), nn.Conv2d(3, 2, 1), nn.Conv2d(3, 2, 1)
        self.output = output

    def forward(self, x):
        y = self.conv(x)
        return self.a(torch.relu(y)), y if self.output else self.b(y)


@pytest.mark.parametrize("output", [False, True])
def test_readers_behind_and_before_a_relu_share_the_wider_range(output):
    model, batches = Fork(output=output), images(2, 2, 6, 6)
    quantized(model, batches)
    low, high = affine_of_range(*_range(model.conv, batches)), model.conv.affine("y")
    assert low == high
    assert same((model.conv, "y"), (model.a, "x"), *([] if output else [(model.b, "x")]))


def _range(conv: QConv2d, batches) -> tuple[float, float]:
    with torch.no_grad():
        values = torch.cat([nn.functional.conv2d(x, conv.weight, conv.bias) for x in batches])
    return float(values.min()), float(values.max())


def test_a_clip_bounds_the_range_of_an_output():
    model, batches = nn.Sequential(nn.Conv2d(2, 3, 1), nn.Hardtanh(-0.25, 0.5)), images(2, 2, 6, 6)
    quantized(model, batches)
    assert model[0].affine("y") == affine_of_range(-0.25, 0.5)


class Moved(nn.Module):
    """Reshapes, permutations, slices and in-place operators between producer and reader."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(2, 4, 1), nn.Conv2d(4, 2, 1), nn.Linear(36, 3)

    def forward(self, x):
        y = self.a(x).permute(0, 1, 3, 2).contiguous()
        y = nn.functional.pad(y.relu_(), (1, 0, 0, 1))[:, :, :6, :6]
        left, _ = self.b(y).clamp(min=0.0).chunk(2, 1)
        return self.c(torch.flatten(left.squeeze(1), 1))


def test_moves_keep_scales():
    model = Moved()
    quantized(model, images(2, 2, 6, 6))
    assert same((model.a, "y"), (model.b, "x"))
    assert same((model.b, "y"), (model.c, "x"))
    assert model.b.affine("y").zero_point == -128


def test_readers_of_other_operators_have_their_own_range():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.b(torch.sigmoid(self.a(x)))

    model = Mixed()
    quantized(model, images(4, 4))
    assert not same((model.a, "y"), (model.b, "x"))
    assert model.b.affine("x").zero_point == -128


def test_memory_changed_under_another_name_is_not_trusted():
    class Tangled(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            y = self.a(x)
            view = y.view(-1, 4)
            y.mul_(3.0)
            return self.b(view)

    model, batches = Tangled(), images(4, 4)
    wanted = [model(x) for x in batches]
    quantized(model, batches)
    assert float(model.b.x_scale / model.a.y_scale) == pytest.approx(3.0, rel=1e-5)
    assert sqnr_db(wanted[0], model(batches[0])) > 30


@pytest.mark.parametrize(("low", "high"), [(6.0, 9.0), (-9.0, -6.0), (-1.0, 3.0), (0.0, 0.0), (1e-44, 1e-42)])
def test_ranges_hold_zero_exactly(low, high):
    scale, zero_point = affine_of_range(low, high)
    assert -128 <= zero_point <= 127
    assert math.isfinite(scale)
    assert scale > 0
    if high - low > 1e-30:
        assert (-128 - zero_point) * scale <= min(low, 0.0) + scale
        assert (127 - zero_point) * scale >= max(high, 0.0) - scale


def test_tensors_of_zeros_are_noted():
    model = prepared(nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 2)))
    with pytest.warns(QuantizationWarning, match="only zeros at an input of layers '0', '1'"):
        run_calibration(model, [torch.zeros(2, 3)], progress=False)
    freeze_model_weights(model)
    validate_model_export_ready(model)
    assert torch.isfinite(model(torch.zeros(2, 3))).all()


@pytest.mark.parametrize("method", ["percentile", "mse"])
def test_outliers_are_cut(method):
    values = torch.randn(20, 4096, generator=torch.Generator().manual_seed(3))
    values[7, 5] = 300.0
    observers = (MinMax(), Histogram(method, 99.9))
    for row in values:  # the outlier makes the bins grow in the middle
        for observer in observers:
            observer.update(row)
    assert observers[0].cut() == observers[1].range()
    assert observers[0].cut()[1] == 300.0
    low, high = observers[1].cut()
    assert -6 < low < -2.5
    # cutting x off costs (300 - x)^2, keeping it 82,000 * (x / 255)^2 / 12: least near 271
    assert 2.5 < high < (6 if method == "percentile" else 280)


def test_histograms_count_exactly():
    observer = Histogram("percentile", 100.0)
    for scale in (0.0, 1e-3, 1.0, 50.0):
        observer.update(torch.linspace(-scale, scale, 101))
    assert observer.counts.sum() == 404
    assert observer.cut() == (-50.0, 50.0)


@pytest.mark.parametrize("method", ["percentile", "mse"])
def test_a_model_calibrates_by_each_method(method):
    model, batches = shake_batchnorm(SmallResNet()), images(4, 3, 8, 8)
    wanted = model(batches[0])
    quantized(model, batches, range=method, percentile=99.9)
    validate_model_export_ready(model)
    assert sqnr_db(wanted, model(batches[0])) > 15


# ---- average pools ----


def test_a_pool_between_quantized_layers_is_the_integer_average():
    model = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ReLU(), nn.AvgPool2d(2), nn.ReLU6(), nn.Conv2d(3, 2, 1))
    quantized(model, images(2, 2, 6, 6))
    assert not model[2].float_layer
    assert same((model[0], "y"), (model[2], "x"))
    assert same((model[2], "y"), (model[4], "x"))


@pytest.mark.parametrize(
    "layers",
    [
        [nn.AvgPool2d(2), nn.Conv2d(2, 2, 1)],
        [nn.Conv2d(2, 2, 1), nn.AvgPool2d(2)],
        [nn.Conv2d(2, 2, 1), nn.AvgPool2d(2), nn.Sigmoid(), nn.Conv2d(2, 2, 1)],
        [nn.Conv2d(2, 2, 1), nn.AvgPool2d(2), nn.MaxPool2d(2), nn.Conv2d(2, 2, 1)],
    ],
)
def test_a_pool_at_another_place_is_a_float_layer(layers):
    model, batches = nn.Sequential(*layers), images(2, 2, 8, 8)
    wanted = model(batches[0])
    quantized(model, batches)
    pool = next(m for m in model if isinstance(m, QAvgPool2d))
    assert pool.float_layer
    assert int(pool.role) == 1
    assert sqnr_db(wanted, model(batches[0])) > 30
    validate_model_export_ready(model)


def test_a_pool_beside_float_convolutions_is_a_float_layer():
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.AvgPool2d(2), nn.Conv2d(2, 2, 1))
    quantized(model, images(2, 2, 8, 8), {"0": {"quantize": False}})
    assert model[1].float_layer


def test_a_setting_of_a_pool_is_noted():
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.AvgPool2d(2), nn.Conv2d(2, 2, 1)).eval()
    with pytest.warns(
        QuantizationWarning, match="layer '1': an average pool is as precise as the layers around"
    ):
        quantize_model(model, {"layers": {"1": {"quantize": False}}})


def test_uneven_regions_are_refused_by_name():
    model = prepared(nn.Sequential(nn.Conv2d(2, 2, 1), nn.AdaptiveAvgPool2d(3), nn.Conv2d(2, 2, 1)))
    with pytest.raises(Error) as caught:
        run_calibration(model, images(1, 2, 8, 8), progress=False)
    assert str(caught.value) == (
        "error[E_ATTR] layer '1' (AdaptiveAvgPool2d): an adaptive average pool is supported where its "
        "regions "
        "are all equal; found output_size [3, 3] on an input of [8, 8], wanted sizes that divide the "
        "input's\n"
        "  cure: choose an output size that divides height and width, or use nn.AvgPool2d"
    )


# ---- loaders ----


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, z, scale=None):
        return self.a(x) + self.b(z)


def one() -> nn.Module:
    return prepared(nn.Sequential(nn.Linear(3, 3)))


X = torch.tensor([[1.0, -2.0, 3.0]])


@pytest.mark.parametrize(
    "batch",
    [
        X,
        (X, torch.tensor([1])),
        [X, "label"],
        {"input": X, "label": torch.tensor([1])},
        X.numpy(),
        X.double(),
    ],
)
def test_batches_of_one_input(batch):
    model = one()
    assert run_calibration(model, [batch], progress=False) == 1
    assert model[0].affine("x") == affine_of_range(-2.0, 3.0)


@pytest.mark.parametrize(
    "batch",
    [(X, 2 * X), (X, 2 * X, "label"), ((X, 2 * X), "label"), {"z": 2 * X, "x": X}, ({"z": 2 * X, "x": X}, 1)],
)
def test_batches_of_two_inputs(batch):
    model = prepared(Two())
    run_calibration(model, [batch], progress=False)
    assert model.a.affine("x") == affine_of_range(-2.0, 3.0)
    assert model.b.affine("x") == affine_of_range(-4.0, 6.0)


def test_a_dict_with_one_image_needs_no_name():
    model = prepared(nn.Sequential(nn.Conv2d(3, 2, 1)))
    batch = {"pixel_values": torch.ones(1, 3, 2, 2), "labels": torch.tensor([1])}
    run_calibration(model, [batch], progress=False)
    assert bool(model[0].calibrated)


def test_a_data_loader_stops_after_num_batches(capsys):
    model = one()
    data = DataLoader(TensorDataset(torch.arange(30.0).reshape(10, 3), torch.zeros(10)), batch_size=2)
    assert run_calibration(model, data, num_batches=2) == 2
    assert model[0].affine("x") == affine_of_range(0.0, 11.0)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "calibration: 100%" in shown.err
    assert "2/2" in shown.err


def test_a_generator_is_read_once_and_no_further():
    taken = []

    def batches():
        for i in range(10):
            taken.append(i)
            yield X

    assert run_calibration(one(), batches(), num_batches=3, progress=False) == 3
    assert len(taken) == 3


def test_a_second_calibration_starts_afresh():
    model = one()
    run_calibration(model, [100 * X], progress=False)
    freeze_model_weights(model)
    run_calibration(model, [X], progress=False)
    assert model[0].affine("x") == affine_of_range(-2.0, 3.0)
    assert not bool(model[0].frozen)


def test_observers_keep_no_data():
    model = one()
    run_calibration(model, [X] * 5, progress=False)
    assert model[0].observers == {}


# ---- errors ----


@pytest.mark.parametrize(
    ("loader", "options", "text"),
    [
        ([], {}, "the loader gave no batch; found no batch, wanted at least one"),
        (
            [X],
            {"num_batches": 0},
            "num_batches is unusable; found 0, wanted at least 1, or None for all batches",
        ),
        (
            X,
            {},
            "the loader is a tensor; found a tensor of shape (1, 3), wanted something that yields batches",
        ),
        ([()], {}, "a batch is empty; found (), wanted tensors"),
        (
            [{"label": torch.tensor([1])}],
            {},
            "a batch has no key that is a parameter of forward; found label, wanted input",
        ),
    ],
)
def test_unusable_loaders(loader, options, text):
    model = one()
    with pytest.raises(ArgumentError) as caught:
        run_calibration(model, loader, progress=False, **options)
    assert text in str(caught.value)
    assert model[0].stage == "float"


def test_values_that_are_not_finite_name_the_layer():
    model = prepared(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)))
    model[0].weight.data[0, 0] = math.inf
    with pytest.raises(QuantizationError) as caught:
        run_calibration(model, [X], progress=False)
    assert "layer '0' (QLinear): calibration saw values that are not finite (output)" in str(caught.value)
    assert [m.stage for m in model] == ["float", "float"]
    model[0].weight.data.zero_()
    with pytest.raises(QuantizationError, match=r"not finite \(input x\); found range \[nan, nan\]"):
        run_calibration(model, [X, torch.full((1, 3), math.nan)], progress=False)


def test_an_error_of_the_model_leaves_it_as_it_was():
    model = one()
    with pytest.raises(TensorTypeError):
        run_calibration(model, [torch.zeros(1, 7)], progress=False)
    assert model[0].stage == "float"
    run_calibration(model, [X], progress=False)


def test_states_that_are_refused():
    with pytest.raises(QuantizationError, match="the model has no quantized layers"):
        run_calibration(nn.Sequential(nn.Linear(2, 2)).eval(), [torch.zeros(1, 2)])
    model = one().train()
    with pytest.raises(QuantizationError, match="run_calibration needs a model in eval mode"):
        run_calibration(model, [X])


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.aux = nn.Linear(3, 3), nn.Linear(3, 3)
        self.deep = False

    def forward(self, x):
        return self.aux(x) if self.deep else self.fc(x)


def test_a_layer_that_never_runs_is_noted_and_may_not_run_later():
    model = prepared(Unused())
    with pytest.warns(QuantizationWarning, match="calibration never reached layers 'aux'"):
        run_calibration(model, [X], progress=False)
    freeze_model_weights(model)
    validate_model_export_ready(model)
    model.deep = True
    with pytest.raises(QuantizationError, match=r"layer 'aux' \(QLinear\): the layer runs now but never ran"):
        model(X)


class Recursive(nn.Module):
    """Calls one layer many times, in a way that cannot be traced."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        y = self.fc(x)
        return y, self.fc(1000 * x) if bool(x.sum() > 0) else y


def test_calls_that_need_different_scales_are_refused():
    model = prepared(Recursive())
    run_calibration(model, [X], progress=False)
    freeze_model_weights(model)
    with pytest.raises(
        QuantizationError, match=r"layer 'fc' \(QLinear\): one forward calls the layer more than"
    ):
        validate_model_export_ready(model)


def test_tags_are_module_paths():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)))
    tag_all_modules(model)
    assert [m.layer_name for m in model.modules()] == ["", "0", "1", "1.0"]
    whole = prepared(model)
    assert isinstance(whole[1][0], QLinear)
    assert whole[1][0].layer_name == "1.0"


def test_tags_of_an_outer_model_are_kept():
    outer = nn.Sequential(nn.Sequential(nn.Linear(2, 2)).eval()).eval()
    tag_all_modules(outer)
    quantize_model(outer[0], {"layers": {"0.0": {"w_per_channel": False}}})
    assert outer[0][0].layer_name == "0.0"
    assert outer[0][0].w_scale.dim() == 0


# ---- data of another shape ----


class AddSelf(nn.Module):
    """Something to quantize behind any layer."""

    def forward(self, x):
        return x + x


@pytest.mark.parametrize(
    ("make", "wrong", "found", "wanted"),
    [
        (lambda: nn.Conv2d(3, 4, 3), (2, 1, 8, 8), "shape [2, 1, 8, 8]", "[N, 3, H, W] (in_channels=3)"),
        (lambda: nn.Linear(6, 4), (2, 5), "shape [2, 5]", "[..., 6] (in_features=6)"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_data_of_another_shape_names_the_layer(make, wrong, found, wanted, first):
    model = prepared(nn.Sequential(nn.Identity(), make(), AddSelf()))
    right = (2, 6) if len(wrong) == 2 else (2, 3, 8, 8)
    batches = [torch.zeros(wrong)] if first else [torch.rand(right), torch.zeros(wrong)]
    with pytest.raises(TensorTypeError) as caught:
        run_calibration(model, batches, progress=False)
    error = caught.value
    place = f"layer '1' ({type(model[1]).__name__})"
    assert error.message.startswith(
        f"error[E_TYPE] {place}: the model does not run on the calibration data: "
    )
    assert (error.layer, error.found, error.wanted) == ("1", found, wanted)
    assert "yield batches as forward() takes them" in error.cure
    assert isinstance(error.__cause__, RuntimeError | ValueError)
    assert not model[1]._forward_pre_hooks


def test_a_forward_that_fails_by_itself_keeps_its_error():
    class Once(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.fails = nn.Conv2d(3, 3, 1), False

        def forward(self, x):
            if self.fails:
                self.fails = False
                raise ValueError("not the first time")
            return self.conv(x)

    model = Once().eval()
    tag_all_modules(model)
    quantize_model(model, {"defaults": {"int8_matmul": True, "quantize_output": True}})
    model.fails = True
    with pytest.raises(ValueError, match="not the first time"):
        run_calibration(model, images(1, 3, 8, 8), progress=False)
