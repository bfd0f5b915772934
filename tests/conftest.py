# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: one torch thread, seeded generators, small models."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeds() -> None:
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
