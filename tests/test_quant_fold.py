# SPDX-License-Identifier: Apache-2.0
"""fold_batchnorm: pairs by dataflow, the model's float values never change, what stays is named."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch")
from quant_models import Block, SmallResNet, images, shake_batchnorm
from torch import nn

from opencgc.errors import Error, TensorTypeError
from quadric_pyquant.calibration import tag_all_modules
from quadric_pyquant.model_conversion import fold_batchnorm, quantize_model
from quadric_pyquant.notes import QuantizationWarning


def fold(model: nn.Module, *inputs: torch.Tensor) -> tuple[int, list[str]]:
    """Fold and check that the float values stay; return the count and the warnings."""
    with torch.no_grad():
        before = model(*inputs)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            count = fold_batchnorm(model)
        after = model(*inputs)
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (before, after)), strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)
    return count, [str(w.message) for w in caught if w.category is QuantizationWarning]


def left(model: nn.Module) -> list[str]:
    kinds = nn.modules.batchnorm._BatchNorm
    return [name for name, module in model.named_modules() if isinstance(module, kinds)]


def test_a_residual_network_folds_whole():
    model = shake_batchnorm(SmallResNet())
    count, notes = fold(model, *images(2, 3, 8, 8, count=1))
    assert (count, notes, left(model)) == (6, [], [])
    assert isinstance(model.layer1[1].downsample[1], nn.Identity)


class SharedConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn1, self.bn2 = nn.BatchNorm2d(4), nn.BatchNorm2d(4)

    def forward(self, x, z):
        return self.bn1(self.conv(x)), self.bn2(self.conv(z))


def test_a_conv_with_two_batchnorms_stays():
    model = shake_batchnorm(SharedConv())
    count, notes = fold(model, *images(1, 3, 6, 6, count=2))
    assert (count, left(model)) == (0, ["bn1", "bn2"])
    assert notes == [
        "BatchNorm not folded: 'bn1', 'bn2': layer 'conv' is called 2 times; "
        "a float32 scale and shift per channel takes its place"
    ]


class DeclaredElsewhere(nn.Module):
    """Neighbours in named_modules() are strangers in the dataflow."""

    def __init__(self):
        super().__init__()
        self.conv_b, self.bn_a = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv_a, self.bn_b = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)

    def forward(self, x):
        return self.bn_b(self.conv_b(torch.relu(self.bn_a(self.conv_a(x)))))


def test_pairs_follow_the_dataflow():
    assert fold(shake_batchnorm(DeclaredElsewhere()), *images(1, 4, 7, 7, count=1))[0] == 2


class Tail(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.bn(x))


def test_pairs_reach_across_submodules_and_identities():
    head = nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.Identity(), nn.Dropout(0.3))
    model = shake_batchnorm(nn.Sequential(head, Tail()))
    assert fold(model, *images(1, 2, 6, 6, count=1)) == (1, [])


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ([nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4, affine=False)], (2, 2, 6, 6)),
        ([nn.Conv2d(4, 6, 3, groups=2, padding=1, padding_mode="reflect"), nn.BatchNorm2d(6)], (1, 4, 6, 6)),
        ([nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7, affine=False)], (3, 5)),
        ([nn.Linear(5, 7), nn.BatchNorm1d(7)], (3, 5)),
        ([nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4)], (2, 2, 9)),
        ([nn.ConvTranspose2d(4, 6, 3, groups=2, stride=2), nn.BatchNorm2d(6)], (1, 4, 5, 5)),
        ([nn.Conv3d(1, 2, 2), nn.BatchNorm3d(2)], (1, 1, 3, 4, 4)),
    ],
)
def test_each_kind_of_layer_folds(layers, shape):
    assert fold(shake_batchnorm(nn.Sequential(*layers)), *images(*shape, count=1)) == (1, [])


def test_tiny_variance_zero_and_negative_gamma():
    norm = nn.BatchNorm2d(4, eps=1e-3)
    model = shake_batchnorm(nn.Sequential(nn.Conv2d(2, 4, 3), norm))
    norm.running_var.copy_(torch.tensor([1e-9, 0.5, 0.3, 0.2]))
    norm.weight.data.copy_(torch.tensor([0.05, 0.0, -1.5, 1.0]))
    assert fold(model, *images(1, 2, 7, 7, count=1))[0] == 1


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (
            nn.Sequential(nn.BatchNorm2d(2), nn.Conv2d(2, 4, 3, padding=1)),
            "its input comes from an input of the",
        ),
        (
            nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU(), nn.BatchNorm2d(2)),
            "its input comes from ReLU, not from",
        ),
        (
            nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, track_running_stats=False)),
            "it keeps no running statistics (track_running_stats=False)",
        ),
        (
            nn.Sequential(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2, eps=0.0)),
            "the folded weight would not be finite",
        ),
    ],
)
def test_what_cannot_fold_stays_and_is_named(model, reason):
    shake_batchnorm(model)
    if "finite" in reason:
        model[1].running_var.zero_()
    name = left(model)[0]
    with pytest.warns(QuantizationWarning) as caught:
        assert fold_batchnorm(model) == 0
    assert left(model) == [name]
    assert f"'{name}': {reason}" in str(caught[0].message)


class ReadTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2)

    def forward(self, x):
        y = self.conv(x)
        return self.bn(y) + y


def test_a_conv_that_is_read_elsewhere_stays():
    count, notes = fold(shake_batchnorm(ReadTwice()), *images(1, 2, 5, 5, count=1))
    assert count == 0
    assert "the output of layer 'conv' is also read elsewhere" in notes[0]


def test_tied_weights_stay():
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2), nn.Conv2d(2, 2, 1))
    model[2].weight = model[0].weight
    count, notes = fold(shake_batchnorm(model), *images(1, 2, 5, 5, count=1))
    assert count == 0
    assert "layer '0' shares its weight" in notes[0]


class Branching(nn.Module):
    """forward cannot be traced; the block inside can."""

    def __init__(self):
        super().__init__()
        self.block, self.conv, self.bn = Block(3), nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)

    def forward(self, x):
        if x.sum() > 0:
            x = self.block(x)
        return self.bn(self.conv(x))


def test_parts_of_an_untraceable_model_fold():
    count, notes = fold(shake_batchnorm(Branching()), *images(1, 3, 6, 6, count=1))
    assert count == 2
    assert "'bn': no traced part of the model calls it (Branching: TraceError" in notes[0]


class Looping(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(3), nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))])

    def forward(self, x):
        while x.abs().max() > 1:
            for block in self.blocks:
                x = block(x) / 10
        return x


def test_parts_in_a_module_list_and_in_a_wrapper_fold():
    x = images(1, 3, 6, 6, count=1)[0]
    assert fold(shake_batchnorm(Looping()), x) == (3, [])
    assert fold(shake_batchnorm(nn.DataParallel(SmallResNet())), x) == (6, [])


def test_two_batchnorms_in_a_row_fold_into_one_layer():
    model = shake_batchnorm(nn.Sequential(nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.BatchNorm2d(2)))
    assert fold(model, *images(1, 2, 5, 5, count=1)) == (2, [])


def test_training_mode_is_refused():
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2))
    model.eval()[1].train()
    with pytest.raises(Error) as caught:
        fold_batchnorm(model)
    assert str(caught.value) == (
        "error[E_QUANT] layer '1' (BatchNorm2d): fold_batchnorm needs a model in eval mode "
        "(training changes BatchNorm and Dropout); found training=True, wanted training=False\n"
        "  cure: call model.eval() first"
    )


def test_a_batchnorm1d_over_a_sequence_is_caught():
    """[N, T, C]: the norm scales T, the weight C; the rank is known only when the layer runs."""
    model = shake_batchnorm(nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)))
    assert fold_batchnorm(model) == 1
    tag_all_modules(model)
    quantize_model(model)
    with pytest.raises(TensorTypeError, match="BatchNorm1d '1' was folded"):
        model(torch.randn(2, 6, 4))
