# SPDX-License-Identifier: Apache-2.0
"""Observers: the range of one operand over all calibration batches, in bounded memory.

MinMax keeps two numbers. Histogram keeps a fixed number of bins around 0 whose width doubles when a larger
value arrives (neighbours merge, nothing is re-read), and cuts the range by percentile or by least squared
error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from quadric_pyquant.arithmetic import affine_of_range

if TYPE_CHECKING:
    from quadric_pyquant.settings import LayerSettings

BINS = 4096  # on both sides of 0 together
MSE_CUTS = 64


class MinMax:
    """Smallest and largest value seen."""

    def __init__(self) -> None:
        self.low: torch.Tensor | None = None
        self.high: torch.Tensor | None = None

    def update(self, x: torch.Tensor) -> None:
        """Take in one tensor."""
        if x.numel() == 0:
            return
        low, high = torch.aminmax(x.detach())
        self.low = low if self.low is None else torch.minimum(self.low, low)
        self.high = high if self.high is None else torch.maximum(self.high, high)

    def range(self) -> tuple[float, float] | None:
        """Return (low, high) of all that was seen, None if nothing was."""
        if self.low is None or self.high is None:
            return None
        return float(self.low), float(self.high)

    def cut(self) -> tuple[float, float] | None:
        """Return the range to quantize: here all of it."""
        return self.range()


class Histogram(MinMax):
    """Counts of values in bins of one width; bin i of BINS covers [(i - BINS/2) * width, ... + width)."""

    def __init__(self, method: str, percentile: float) -> None:
        super().__init__()
        self.method, self.percentile = method, percentile
        self.width = 0.0
        self.counts = np.zeros(BINS, dtype=np.int64)

    def update(self, x: torch.Tensor) -> None:
        """Take in one tensor."""
        super().update(x)
        seen = self.range()
        if x.numel() == 0 or seen is None or not all(map(math.isfinite, seen)):
            return
        self._widen(max(abs(seen[0]), abs(seen[1])))
        if self.width > 0:
            index = torch.floor(x.detach().float().flatten() / self.width).to(torch.int64) + BINS // 2
            self.counts += torch.bincount(index.clamp_(0, BINS - 1), minlength=BINS).cpu().numpy()
        else:  # only zeros so far
            self.counts[BINS // 2] += x.numel()

    def _widen(self, largest: float) -> None:
        needed = largest / (BINS // 2 - 1)
        if self.width == 0.0:
            self.width = needed
        while self.width < needed:
            pairs = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.zeros_like(self.counts)
            self.counts[BINS // 4 : 3 * BINS // 4] = pairs
            self.width *= 2

    def cut(self) -> tuple[float, float] | None:
        """Return the range that the chosen method keeps; always within what was seen."""
        seen = self.range()
        if seen is None or self.width == 0.0:
            return seen
        low, high = self._by_percentile() if self.method == "percentile" else self._by_error(*seen)
        return max(seen[0], low), min(seen[1], high)

    def _by_percentile(self) -> tuple[float, float]:
        share = self.counts.cumsum() / max(self.counts.sum(), 1)
        tail = 1.0 - self.percentile / 100.0
        first, last = np.searchsorted(share, tail, side="right"), np.searchsorted(share, 1.0 - tail)
        return (first - BINS // 2) * self.width, (last + 1 - BINS // 2) * self.width

    def _by_error(self, low: float, high: float) -> tuple[float, float]:
        """Return the range with the least squared quantization error among shrunken ones."""
        centres = (np.arange(BINS) - BINS // 2 + 0.5) * self.width
        centres[BINS // 2] = 0.0 if low >= 0.0 else centres[BINS // 2]
        best, best_error = (low, high), math.inf
        for step in range(MSE_CUTS):
            keep = 1.0 - step / (1.25 * MSE_CUTS)
            scale, zero_point = affine_of_range(low * keep, high * keep)
            q = np.clip(np.rint(centres / scale) + zero_point, -128, 127)
            error = float((self.counts * (centres - (q - zero_point) * scale) ** 2).sum())
            if error < best_error:
                best, best_error = (low * keep, high * keep), error
        return best


def make_observer(settings: LayerSettings) -> MinMax:
    """Return the observer that a layer's setting `range` asks for."""
    method = str(settings["range"])
    return MinMax() if method == "minmax" else Histogram(method, float(settings["percentile"]))
