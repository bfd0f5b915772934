# SPDX-License-Identifier: Apache-2.0
"""State: checkpoints, copies, and validate_model_export_ready with its texts in full."""

from __future__ import annotations

import copy
import io

import pytest

torch = pytest.importorskip("torch")
from quant_models import SmallResNet, images, prepared, quantized, shake_batchnorm
from torch import nn

from opencgc.errors import Error
from quadric_pyquant.calibration import run_calibration, tag_all_modules
from quadric_pyquant.model_conversion import (
    fold_batchnorm,
    freeze_model_weights,
    quantize_model,
    validate_model_export_ready,
)
from quadric_pyquant.modules import FloatAffine

# ---- checkpoints ----


class Net(nn.Module):
    """A residual network with a float pool, a float layer and a BatchNorm that cannot fold."""

    def __init__(self):
        super().__init__()
        self.norm, self.body = nn.BatchNorm2d(3), SmallResNet()
        self.pool, self.plain, self.spare = nn.AvgPool2d(2), nn.Linear(5, 4), nn.Linear(2, 2)

    def forward(self, x):
        return self.plain(self.body(self.pool(self.norm(x))))


FLOAT = {"plain": {"quantize": False}}


def through_disk(model: nn.Module) -> dict:
    saved = io.BytesIO()
    torch.save(model.state_dict(), saved)
    saved.seek(0)
    return torch.load(saved, weights_only=True)


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_checkpoint_loads_into_a_new_model_and_exports_without_a_forward(per_channel):
    batches = images(2, 3, 16, 16)
    trained = quantized(shake_batchnorm(Net()), batches, FLOAT, w_per_channel=per_channel)
    wanted = trained(batches[0])
    loaded = prepared(Net(), FLOAT)  # the checkpoint decides about per channel
    result = loaded.load_state_dict(through_disk(trained))
    assert not result.missing_keys
    assert not result.unexpected_keys
    validate_model_export_ready(loaded)
    assert loaded.pool.float_layer
    assert loaded.spare.stage == "unused"
    assert loaded.body.conv1.w_scale.dim() == int(per_channel)
    program = torch.export.export(loaded, (batches[0],)).run_decompositions({})
    assert torch.equal(program.module()(batches[0]), wanted)
    assert torch.equal(loaded(batches[0]), wanted)
    assert isinstance(loaded.norm, FloatAffine)


def test_a_calibrated_checkpoint_can_be_frozen_later():
    batches = images(2, 3, 8, 8)
    first = prepared(shake_batchnorm(SmallResNet()))
    run_calibration(first, batches, progress=False)
    second = prepared(SmallResNet())
    second.load_state_dict(through_disk(first))
    assert second.conv1.stage == "fake"
    for model in (first, second):
        freeze_model_weights(model)
    assert torch.equal(first(batches[0]), second(batches[0]))


def test_a_float_checkpoint_loads_into_a_quantized_model():
    model = SmallResNet().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.weight.data.uniform_(0.5, 1.5)
    fold_batchnorm(model)
    state = copy.deepcopy(model.state_dict())
    other = SmallResNet().eval()
    fold_batchnorm(other)
    quantize_model(other)
    missing = other.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys
    x = images(1, 3, 8, 8, count=1)[0]
    assert torch.allclose(other(x), model(x), atol=1e-5)


def test_state_keys_of_the_float_model_stay():
    model = shake_batchnorm(SmallResNet())
    fold_batchnorm(model)
    keys = set(model.state_dict())
    quantize_model(model)
    assert keys <= set(model.state_dict())


def test_copies_are_independent():
    batches = images(2, 3, 8, 8)
    model = quantized(shake_batchnorm(SmallResNet()), batches)
    other, wanted = copy.deepcopy(model), model(batches[0])
    run_calibration(other, [10 * x for x in batches], progress=False)
    freeze_model_weights(other)
    assert torch.equal(model(batches[0]), wanted)
    assert not torch.equal(other(batches[0]), wanted)


# ---- readiness ----


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(2, 2, 1), nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(torch.flatten(torch.relu(self.conv(x)), 1))


def ready() -> nn.Module:
    return quantized(Tiny(), images(2, 2, 2, 2))


def uncalibrated() -> nn.Module:
    return prepared(Tiny())


def unfrozen() -> nn.Module:
    model = prepared(Tiny())
    run_calibration(model, images(2, 2, 2, 2), progress=False)
    return model


def never_folded() -> nn.Module:
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)).eval()
    tag_all_modules(model)
    quantize_model(model)
    run_calibration(model, images(2, 2, 2, 2), progress=False)
    freeze_model_weights(model)
    return model


def without_statistics() -> nn.Module:
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2, track_running_stats=False))
    return quantized(model, images(2, 2, 2, 2))


def float_output() -> nn.Module:
    return quantized(Tiny(), images(2, 2, 2, 2), {"fc": {"quantize_output": False}})


def float_matmul() -> nn.Module:
    return quantized(Tiny(), images(2, 2, 2, 2), int8_matmul=False)


def changed(name: str, value) -> nn.Module:
    model = ready()
    with torch.no_grad():
        module, _, buffer = name.rpartition(".")
        model.get_submodule(module).get_buffer(buffer).fill_(value)
    return model


def training() -> nn.Module:
    model = ready()
    model.fc.train()
    return model


def same_tag() -> nn.Module:
    model = ready()
    model.fc.layer_name = "conv"
    return model


def half() -> nn.Module:
    return ready().half()


TEXTS = [
    (
        uncalibrated,
        "layer 'conv' (QConv2d): the layer is not calibrated; found calibrated=False, wanted "
        "calibrated=True\n"
        "  cure: call run_calibration(model, loader)",
    ),
    (
        unfrozen,
        "layer 'conv' (QConv2d): the layer's weights are not frozen; found frozen=False, wanted frozen=True\n"
        "  cure: call freeze_model_weights(model) after calibration",
    ),
    (
        never_folded,
        "layer '1' (BatchNorm2d): BatchNorm was never folded and has no quantized form; found a "
        "BatchNorm in the "
        "model, wanted none\n  cure: call fold_batchnorm(model) before quantize_model",
    ),
    (
        without_statistics,
        "layer '1' (BatchNorm2d): BatchNorm without running statistics computes on each batch; found no "
        "running_mean and running_var, wanted running statistics\n"
        "  cure: train it with track_running_stats=True, or use another normalization",
    ),
    (
        float_output,
        "layer 'fc' (QLinear): the layer's output has no scale (quantize_output); found "
        "quantize_output=False, "
        "wanted quantize_output=True\n"
        '  cure: set config["defaults"]["quantize_output"] = True, '
        'and in config["layers"]["fc"] where it stands there, and quantize again',
    ),
    (
        float_matmul,
        "layer 'conv' (QConv2d): the layer is not on the integer path (int8_matmul); found "
        "int8_matmul=False, "
        "wanted int8_matmul=True\n"
        '  cure: set config["defaults"]["int8_matmul"] = True, '
        'and in config["layers"]["conv"] where it stands there, and quantize again',
    ),
    (
        training,
        "layer 'fc' (QLinear): export needs a model in eval mode (training changes BatchNorm and "
        "Dropout); found "
        "training=True, wanted training=False\n  cure: call model.eval() first",
    ),
    (
        same_tag,
        "layer 'conv' (QLinear): two layers have the same layer_name: 'conv' and 'fc'; found 'conv', "
        "wanted a name "
        "of its own for each layer\n  cure: call tag_all_modules(model)",
    ),
    (
        lambda: changed("fc.x_scale", 0.0),
        "layer 'fc' (QLinear): x_scale is no usable scale; found 0.0 (float32), wanted finite float32 "
        "values above "
        "0\n  cure: calibrate and freeze again",
    ),
    (
        lambda: changed("conv.y_scale", float("inf")),
        "layer 'conv' (QConv2d): y_scale is no usable scale; found inf (float32), wanted finite float32 "
        "values "
        "above 0\n  cure: calibrate and freeze again",
    ),
    (
        lambda: changed("conv.y_zero_point", 128),
        "layer 'conv' (QConv2d): y_zero_point is no int8 value; found 128 (torch.int32), wanted an "
        "int32 buffer in "
        "[-128, 127]\n  cure: calibrate again",
    ),
    (
        lambda: changed("conv.w_scale", 1e-41),
        "layer 'conv' (QConv2d): the multiplier x_scale * w_scale / y_scale is no normal float32 number",
    ),
    (
        half,
        "layer 'conv' (QConv2d): x_scale is no usable scale; found ",
    ),
]


@pytest.mark.parametrize(("make", "text"), TEXTS)
def test_what_is_not_ready_is_named(make, text):
    with pytest.raises(Error) as caught:
        validate_model_export_ready(make())
    whole = f"error[E_QUANT] {text}"
    assert str(caught.value)[: len(whole)] == whole
    error = caught.value
    assert all((error.layer, error.op, error.setting, error.found, error.wanted, error.cure))


def test_a_ready_model_passes():
    validate_model_export_ready(ready())


def test_a_float_model_is_refused():
    with pytest.raises(Error) as caught:
        validate_model_export_ready(Tiny().eval())
    assert str(caught.value) == (
        "error[E_QUANT] Tiny: the model has no quantized layers; found a float model, wanted a model that "
        "quantize_model has changed\n  cure: call quantize_model(model, config) first"
    )


def test_freezing_needs_calibration():
    with pytest.raises(Error) as caught:
        freeze_model_weights(prepared(Tiny()))
    assert str(caught.value) == (
        "error[E_QUANT] layer 'conv' (QConv2d): the layer is not calibrated, so its bias has no scale; found "
        "calibrated=False, wanted calibrated=True\n"
        "  cure: call run_calibration(model, loader) before freeze_model_weights"
    )
