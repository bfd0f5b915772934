# SPDX-License-Identifier: Apache-2.0
"""Names to give layers their names and to measure the ranges of their values."""

from quadric_pyquant.calibrate import run_calibration
from quadric_pyquant.tags import tag_all_modules

__all__ = ["run_calibration", "tag_all_modules"]
