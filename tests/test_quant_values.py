# SPDX-License-Identifier: Apache-2.0
"""Values: the frozen forward is the written arithmetic (tests/reference), weights are frozen by the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from quant_models import SmallResNet, images, prepared, quantized, shake_batchnorm, sqnr_db
from reference import qlinear_conv2d, qlinear_dense, qnn_add, qnn_avg_pool2d
from reference.common import dequantize, quantize
from torch import nn

from opencgc.errors import Error, QuantizationError
from quadric_pyquant import ops
from quadric_pyquant.arithmetic import Affine, freeze_weight, multiplier
from quadric_pyquant.calibration import run_calibration
from quadric_pyquant.model_conversion import freeze_model_weights, validate_model_export_ready
from quadric_pyquant.modules import QuantModule

# ---- the integer path, layer by layer, against the independent reference ----


def attributes(layer: QuantModule) -> dict:
    attrs = {"w_zero_point": 0}
    for name in (*layer.operands, "y"):
        scale, zero_point = layer.affine(name)
        attrs |= {f"{name}_scale": np.float32(scale), f"{name}_zero_point": zero_point}
    if hasattr(layer, "w_scale"):
        attrs["w_scale"] = layer.w_scale.numpy()
    return attrs


def integers(layer: QuantModule, *operands: torch.Tensor) -> list:
    values = [quantize(v.numpy(), *layer.affine(n)) for n, v in zip(layer.operands, operands, strict=True)]
    if hasattr(layer, "weight_q"):
        values += [layer.weight_q.numpy(), None if layer.bias_q is None else layer.bias_q.numpy()]
    return values


def expected(layer: QuantModule, *operands: torch.Tensor) -> np.ndarray:
    attrs, kind = attributes(layer), type(layer).__name__
    if kind == "QConv2d":
        attrs |= {"strides": layer.steps, "padding": layer.pads, "dilation": layer.dilations}
        attrs["groups"] = layer.groups
        reference = qlinear_conv2d
    elif kind == "QAvgPool2d":
        window = layer.window or list(operands[0].shape[2:])
        attrs |= {"pool_size": window, "strides": layer.steps or [1, 1], "padding": layer.pads or [0] * 4}
        attrs |= {"ceil_mode": layer.ceil_mode, "count_include_pad": layer.count_include_pad}
        attrs["divisor_override"] = layer.divisor_override or 0
        reference = qnn_avg_pool2d
    else:
        reference = {"QLinear": qlinear_dense, "QAdd": qnn_add}[kind]
    return dequantize(reference.reference(integers(layer, *operands), attrs)[0], *layer.affine("y"))


def check_layers(model: nn.Module, x: torch.Tensor) -> int:
    """Compare each int8 layer's output with the reference on its own inputs; return how many."""
    checked = []

    def compare(layer, operands, result):
        if not layer.float_layer:
            assert expected(layer, *operands).tobytes() == result.numpy().tobytes(), layer.layer_name
            checked.append(layer)

    hooks = [m.register_forward_hook(compare) for m in model.modules() if isinstance(m, QuantModule)]
    with torch.no_grad():
        model(x)
    for hook in hooks:
        hook.remove()
    return len(checked)


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_residual_network_is_the_reference_layer_by_layer(per_channel):
    model, batches = shake_batchnorm(SmallResNet()), images(2, 3, 16, 16)
    wanted = model(batches[0])
    quantized(model, batches, w_per_channel=per_channel)
    assert check_layers(model, batches[0]) == 10
    assert sqnr_db(wanted, model(batches[0])) > 20


CONVOLUTIONS = [
    ({"kernel_size": 3, "padding": 1}, (2, 4, 7, 7)),
    ({"kernel_size": (3, 2), "stride": (2, 1), "padding": (0, 1), "bias": False}, (1, 4, 9, 8)),
    ({"kernel_size": 3, "groups": 2, "dilation": 2}, (1, 4, 9, 9)),
    ({"kernel_size": 3, "groups": 4, "padding": "same"}, (1, 4, 5, 6)),
    ({"kernel_size": 4, "padding": "same"}, (1, 4, 7, 7)),
    ({"kernel_size": (2, 5), "padding": "same", "dilation": (3, 1)}, (1, 4, 9, 7)),
    ({"kernel_size": 3, "padding": "valid"}, (1, 4, 5, 5)),
    ({"kernel_size": 1}, (4, 3, 3)),
]


@pytest.mark.parametrize(("options", "shape"), CONVOLUTIONS)
@pytest.mark.parametrize("quantize_it", [True, False])
def test_convolutions(options, shape, quantize_it):
    model = nn.Sequential(nn.Conv2d(4, 4, **options))
    batches = images(*shape)
    wanted = [model(x) for x in batches]
    if quantize_it:
        quantized(model, batches)
        if len(shape) == 4:
            assert check_layers(model, batches[0]) == 1
    else:
        prepared(model, {"0": {"quantize": False}})
    for w, x in zip(wanted, batches, strict=True):
        got = model(x)
        assert got.shape == w.shape
        assert sqnr_db(w, got) > (30 if quantize_it else 120)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_other_paddings_have_right_values_and_are_refused_for_export(mode):
    model, batches = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)), images(1, 2, 7, 7)
    wanted = model(batches[0])
    quantized(model, batches)
    assert sqnr_db(wanted, model(batches[0])) > 30
    with pytest.raises(QuantizationError) as caught:
        validate_model_export_ready(model)
    assert str(caught.value) == (
        "error[E_QUANT] layer '0' (QConv2d): the graph has no operator for this padding_mode; "
        f"found '{mode}', wanted 'zeros'\n  cure: use padding_mode='zeros', or keep this layer out of "
        f"the exported model"
    )


@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 5, 6), (2, 2, 2, 6)])
@pytest.mark.parametrize("bias", [False, True])
def test_linear_layers_take_any_rank(shape, bias):
    model, batches = nn.Sequential(nn.Linear(6, 8, bias=bias)), images(*shape)
    wanted = model(batches[0])
    quantized(model, batches)
    assert check_layers(model, batches[0]) == 1
    assert sqnr_db(wanted, model(batches[0])) > 28


class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)

    def forward(self, x):
        y = self.conv(x)
        return y + y.mean((2, 3), keepdim=True) + x[:1]


def test_sums_broadcast():
    model, batches = Sum(), images(2, 3, 5, 5)
    wanted = model(batches[0])
    quantized(model, batches)
    assert check_layers(model, batches[0]) == 4
    assert sqnr_db(wanted, model(batches[0])) > 30


POOLS = [
    nn.AvgPool2d(2),
    nn.AvgPool2d(3, 2, 1, ceil_mode=True),
    nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    nn.AvgPool2d((2, 3), (1, 2), divisor_override=7),
    nn.AdaptiveAvgPool2d(1),
    nn.AdaptiveAvgPool2d((None, 2)),
    nn.AdaptiveAvgPool2d((8, 8)),
]


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_average_pools(pool):
    model, batches = nn.Sequential(nn.Conv2d(2, 3, 1), pool, nn.Conv2d(3, 2, 1)), images(2, 2, 8, 8)
    wanted = model(batches[0])
    quantized(model, batches)
    if not getattr(model[1], "adaptive", False) or model[1].output_size == 1:
        assert check_layers(model, batches[0]) == 3
    assert sqnr_db(wanted, model(batches[0])) > 25


def test_memory_order_does_not_matter():
    model, batches = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU()), images(2, 4, 5, 5)
    quantized(model, batches)
    x = batches[0]
    wanted = model(x)
    assert torch.equal(model(x.to(memory_format=torch.channels_last)), wanted)
    assert torch.equal(model(x.transpose(2, 3).contiguous().transpose(2, 3)), wanted)


def test_before_freezing_the_forward_rounds_and_has_gradients():
    model, batches = shake_batchnorm(SmallResNet()), images(4, 3, 8, 8)
    prepared(model)
    run_calibration(model, batches, progress=False)
    rounded = model(batches[0])
    rounded.sum().backward()
    assert float(model.conv1.weight.grad.abs().sum()) > 0
    assert float(model.fc.bias.grad.abs().sum()) > 0
    freeze_model_weights(model)
    assert sqnr_db(model(batches[0]).detach(), rounded.detach()) > 25


def test_without_the_integer_path_freezing_changes_nothing():
    model, batches = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3)), images(2, 4)
    prepared(model, int8_matmul=False)
    run_calibration(model, batches, progress=False)
    before = model(batches[0])
    freeze_model_weights(model)
    assert torch.equal(model(batches[0]), before)


# ---- frozen weights ----

SCALES = st.floats(min_value=-30, max_value=10).map(lambda e: float(np.float32(2.0**e)))


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    weight_scale=st.floats(-60, 6),
    bias_scale=st.floats(-30, 12),
    x_scale=SCALES,
    y_scale=SCALES,
    zero_point=st.integers(-128, 127),
    per_channel=st.booleans(),
)
def test_sums_fit_int32_and_multipliers_are_normal(  # noqa: PLR0917
    seed, weight_scale, bias_scale, x_scale, y_scale, zero_point, per_channel
):
    rng = np.random.default_rng(seed)
    weight = (rng.normal(size=(4, 9)) * 2.0 ** rng.uniform(weight_scale, weight_scale + 8, (4, 1))).astype(
        "f4"
    )
    weight[rng.integers(4)] *= rng.integers(2)
    bias = (rng.normal(size=4) * 2.0**bias_scale).astype("f4")
    frozen = freeze_weight(weight, bias, Affine(x_scale, zero_point), y_scale, per_channel=per_channel)
    assert frozen.w_scale.shape == ((4,) if per_channel else ())
    assert frozen.w_scale.dtype == np.float32
    w_scale = np.broadcast_to(frozen.w_scale, (4,))
    span = max(127 - zero_point, zero_point + 128)
    largest = np.abs(frozen.weight_q.astype(np.int64)).sum(axis=1) * span + np.abs(
        frozen.bias_q.astype(np.int64)
    )
    assert (largest <= 2**31 - 1).all()
    assert np.abs(frozen.weight_q.astype(int)).max() <= 127
    m = multiplier(x_scale, frozen.w_scale, y_scale)
    assert (np.isfinite(m) & (m >= 2.0**-126)).all()
    # What the integers stand for is the float weight and bias, to half a step.
    assert (
        np.abs(frozen.weight_q * w_scale[:, None].astype("f8") - weight) <= 0.501 * w_scale[:, None]
    ).all()
    step = np.float64(np.float32(x_scale)) * w_scale
    assert (np.abs(frozen.bias_q * step - bias) <= 0.5001 * step + 1e-6 * np.abs(bias)).all()


def test_the_largest_weight_is_127_per_tensor_and_per_channel():
    weight = np.array([[1.0, -2.0], [0.5, 0.25]], dtype="f4")
    x = Affine(0.5, 0)
    one = freeze_weight(weight, None, x, 1.0, per_channel=False)
    assert one.bias_q is None
    assert one.weight_q.tolist() == [[64, -127], [32, 16]]
    assert one.w_scale == np.float32(2 / 127)
    each = freeze_weight(weight, None, x, 1.0, per_channel=True)
    assert each.weight_q.tolist() == [[64, -127], [127, 64]]
    assert each.w_scale.tolist() == [np.float32(2 / 127), np.float32(0.5 / 127)]


def test_one_channel_with_a_large_bias_does_not_cost_the_others():
    weight, bias = np.ones((2, 3), dtype="f4"), np.array([0.5, 0.25], dtype="f4")
    weight[0] = 1e-10
    frozen = freeze_weight(weight, bias, Affine(0.01, 3), 0.02, per_channel=True)
    assert (frozen.weight_q[1] == 127).all()
    assert abs(float(frozen.bias_q[0]) * 0.01 * float(frozen.w_scale[0]) - 0.5) < 1e-6


def test_a_channel_without_weights_keeps_its_bias():
    model = nn.Sequential(nn.Conv2d(3, 4, 1))
    model[0].weight.data.zero_()
    model[0].bias.data.copy_(torch.tensor([0.5, -0.3, 0.0, 0.1]))
    for per_channel in (False, True):
        other = nn.Sequential(nn.Conv2d(3, 4, 1))
        other.load_state_dict(model.state_dict())
        quantized(other, images(1, 3, 4, 4), w_per_channel=per_channel)
        result = other(images(1, 3, 4, 4, count=1)[0])[0, :, 0, 0]
        assert torch.allclose(result, model[0].bias, atol=0.8 / 255)


def test_a_large_sum_raises_the_scale():
    """150,000 weights of one sign on an input with zero point -128 could reach 4.8e9."""
    model = nn.Sequential(nn.Linear(150_000, 1, bias=False))
    model[0].weight.data.fill_(0.01)
    x = torch.rand(2, 150_000, generator=torch.Generator().manual_seed(0))
    quantized(model, [x])
    assert int(model[0].weight_q.abs().max()) < 127
    assert int(model[0].weight_q.long().abs().sum()) * 255 <= 2**31 - 1
    assert sqnr_db(model[0].weight.sum() * 0.5 * torch.ones(2, 1), model(x)) > 20


def test_weights_that_are_not_finite_name_the_layer():
    model = prepared(nn.Sequential(nn.Linear(2, 2)))
    run_calibration(model, images(1, 2), progress=False)
    model[0].weight.data[1, 1] = float("nan")
    with pytest.raises(QuantizationError) as caught:
        freeze_model_weights(model)
    assert str(caught.value) == (
        "error[E_QUANT] layer '0' (QLinear): the weight has values that are not finite; found 1 of 4 values, "
        "wanted finite values\n  cure: load a checkpoint whose weights are finite"
    )


# ---- custom operators ----


def test_an_error_of_the_library_names_the_layer():
    x, one, zero = torch.zeros(2, 3), torch.ones(()), torch.zeros((), dtype=torch.int32)
    with pytest.raises(Error, match=r"layer 'head\.fc'") as caught:
        ops.qlinear(x, torch.zeros(2, 5, dtype=torch.int8), None, one, zero, one, one, zero, "head.fc")
    assert caught.value.layer == "head.fc"
    assert caught.value.op == "contrib.epu.dense"


@pytest.mark.parametrize("name", ["qconv2d", "qlinear", "qadd", "qavg_pool2d"])
def test_operators_pass_torchs_own_checks(name):
    x, q = torch.randn(1, 4, 6, 6), torch.randint(-127, 128, (4, 4, 3, 3), dtype=torch.int8)
    one, zero, bias = torch.ones(()), torch.zeros((), dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    arguments = {
        "qconv2d": (x, q, bias, one, zero, torch.ones(4), one, zero, [2, 1], [1, 0, 2, 1], [1, 1], 1, "l"),
        "qlinear": (x, q[:, :, 0, 0].repeat(1, 2)[:, :6].contiguous(), None, one, zero, one, one, zero, "l"),
        "qadd": (x, x[:, :1], one, zero, one, zero, one, zero, "l"),
        "qavg_pool2d": (x, one, zero, one, zero, [3, 2], [2, 2], [1, 1, 1, 1], True, False, None, "l"),
    }[name]
    torch.library.opcheck(getattr(torch.ops.opencgc, name).default, arguments)
