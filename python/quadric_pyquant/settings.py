# SPDX-License-Identifier: Apache-2.0
"""The configuration: {"defaults": {...}, "layers": {layer name: {...}}}, checked.

A layer's settings are the defaults, then those of each module path around it, then its own: the closest wins.
Unknown keys, layers and values are errors that name the nearest known ones.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from opencgc.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LayerSettings = dict[str, Any]

DEFAULTS: LayerSettings = {
    "quantize": True,  # False: the layer stays float32 (on our float32 kernel)
    "int8_matmul": True,  # False: values are rounded but computed in float; cannot be exported
    "quantize_output": True,  # False: no output scale; cannot be exported
    "w_per_channel": True,  # one weight scale per output channel, or one for the layer
    "range": "minmax",  # how calibration cuts ranges: minmax, percentile, mse
    "percentile": 99.99,  # for range="percentile": the share of values kept on each side, in per cent
}
RANGES = ("minmax", "percentile", "mse")
SECTIONS = ("defaults", "layers")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known words nearest to a wrong one, as text."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    return ", ".join(sorted(close) or known[:8]) or "none"


def new_config(layer_names: Iterable[str]) -> dict[str, Any]:
    """Return a configuration with the defaults and an empty entry per layer."""
    return {"defaults": dict(DEFAULTS), "layers": {name: {} for name in layer_names}}


class Settings:
    """A checked configuration."""

    def __init__(self, config: Mapping[str, Any], layer_names: list[str]) -> None:
        for section in config:
            if section not in SECTIONS:
                raise ArgumentError(
                    f"config has no section '{section}'",
                    setting=str(section),
                    found=repr(section),
                    wanted=" or ".join(SECTIONS),
                    cure="take the configuration from generate_quant_config(model) and change its entries",
                )
        self.defaults = dict(DEFAULTS)
        self._merge(self.defaults, config.get("defaults", {}), 'config["defaults"]', "")
        self.layers = dict(config.get("layers", {}))
        for name, entry in self.layers.items():
            self._check_name(name, layer_names)
            self._merge({}, entry, f'config["layers"]["{name}"]', name)

    @staticmethod
    def _check_name(name: str, layer_names: list[str]) -> None:
        if name in layer_names or any(known.startswith(f"{name}.") for known in layer_names):
            return
        raise ArgumentError(
            f"config[\"layers\"] names a layer that the model does not have: '{name}'",
            layer=str(name),
            setting="layers",
            found=repr(name),
            wanted=f"a layer name, nearest: {nearest(str(name), layer_names)}",
            cure="use the names in generate_quant_config(model)['layers']",
        )

    @staticmethod
    def _merge(target: LayerSettings, entry: Mapping[str, Any], place: str, layer: str) -> None:
        for key, value in entry.items():
            if key not in DEFAULTS:
                raise ArgumentError(
                    f"{place} has no setting '{key}'",
                    layer=layer,
                    setting=str(key),
                    found=repr(key),
                    wanted=f"a known setting, nearest: {nearest(str(key), DEFAULTS)}",
                    cure="the settings are the keys of generate_quant_config(model)['defaults']",
                )
            _check_value(key, value, place, layer)
            target[key] = value

    def of(self, layer: str) -> LayerSettings:
        """Return the settings of one layer."""
        settings = dict(self.defaults)
        parts = layer.split(".")
        for depth in range(1, len(parts) + 1):
            settings.update(self.layers.get(".".join(parts[:depth]), {}))
        return settings


def _check_value(key: str, value: Any, place: str, layer: str) -> None:
    if key == "range":
        good, wanted = value in RANGES, " or ".join(map(repr, RANGES))
    elif key == "percentile":
        good = isinstance(value, int | float) and not isinstance(value, bool) and 50.0 < value <= 100.0
        wanted = "a number above 50 and at most 100"
    else:
        good, wanted = isinstance(value, bool), "True or False"
    if not good:
        raise ArgumentError(
            f"{place}['{key}'] has an unusable value",
            layer=layer,
            setting=key,
            found=repr(value),
            wanted=wanted,
            cure=f"the default is {DEFAULTS[key]!r}",
        )
