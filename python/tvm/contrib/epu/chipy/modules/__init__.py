# SPDX-License-Identifier: Apache-2.0
"""One file per layer type of quadric_pyquant; each registers the converter of the layer's custom operator."""
