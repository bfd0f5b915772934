# SPDX-License-Identifier: Apache-2.0
"""Errors of export() that name everything at once, and inputs of unusual memory layout."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")
torch = pytest.importorskip("torch")

from quant_models import images, quantized
from torch import nn

from tvm.contrib.epu.chipy import Tensor, export

HERE = "test_export_errors.py"


class Exotic(nn.Module):
    """Two operators without converter, one of them in a block, behind a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.Softplus()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.cumsum(self.act(self.fc(x)), 1))


class Branch(nn.Module):
    """Decides by a value."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            return self.fc(x)
        return x


def test_all_operators_without_converter_are_named_at_once() -> None:
    with pytest.raises(opencgc.Error) as caught:
        export(quantized(Exotic(), images(2, 4)), x=Tensor((2, 4)))
    assert (caught.value.layer, caught.value.op) == ("act", "aten.softplus.default")
    line = inspect.getsourcelines(Exotic.forward)[1] + 1
    assert f"; also aten.cumsum.default at {HERE}:{line}, wanted" in str(caught.value)
    assert "relu" not in caught.value.found


def test_a_branch_on_values_is_placed() -> None:
    with pytest.raises(opencgc.Error) as caught:
        export(quantized(Branch(), images(2, 4)), x=Tensor((2, 4)))
    line = inspect.getsourcelines(Branch.forward)[1] + 1
    assert caught.value.setting == "forward"
    assert caught.value.found == f"a Python branch or shape that depends on values at {HERE}:{line}"


@pytest.mark.parametrize("engine", ["interp", "host"])
def test_byte_order_and_strides_of_inputs(engine: str) -> None:
    graph = export(quantized(nn.Sequential(nn.Linear(4, 3)), images(2, 4)), input=Tensor((2, 4)))
    x = np.arange(8, dtype=np.float32).reshape(2, 4) / 4 - 1
    strided = np.zeros((2, 8), np.float32)[:, ::2]
    strided[...] = x
    wanted = graph.run({"input": x}, engine)["out_0"]
    for form in (x.astype(">f4"), np.asfortranarray(x), strided, np.ascontiguousarray(x[::-1])[::-1]):
        np.testing.assert_array_equal(graph.run({"input": form}, engine)["out_0"], wanted)
