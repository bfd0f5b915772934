# SPDX-License-Identifier: Apache-2.0
"""HWConfig: every hardware parameter as an attribute.

Names, ranges and meanings come from the C library (isa/hwconfig.def): this file knows none of them.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from opencgc._lib import encode, ffi, lib, text
from opencgc.errors import TargetError
from opencgc.handles import Context, Handle

if TYPE_CHECKING:
    import os


def parameter_meanings() -> dict[str, str]:
    """Return {parameter: meaning} in the order of the list."""
    return {
        text(lib.cgc_hw_param_name(i)): text(lib.cgc_hw_param_meaning(i))
        for i in range(lib.cgc_hw_param_count())
    }


def preset_names() -> list[str]:
    """Return the names of the presets."""
    return [text(lib.cgc_hw_preset_name(i)) for i in range(lib.cgc_hw_preset_count())]


def _unknown(kind: str, name: str, known: list[str]) -> TargetError:
    near = difflib.get_close_matches(name, known, n=1)
    cure = f"did you mean '{near[0]}'?" if near else ""
    return TargetError(f"there is no {kind} '{name}'", setting=name, wanted=", ".join(known), cure=cure)


class HWConfig(Handle):
    """A hardware description: HWConfig(array_size=16, ddr_latency=100), HWConfig.preset("cx-perform").

    Parameters that are not given have their defaults; help: HWConfig.meanings().
    """

    def __init__(self, preset: str = "", **values: float) -> None:
        context = Context()
        object.__setattr__(self, "_context", context)
        super().__init__(context.need(lib.cgc_hw_new(context.pointer)), lib.cgc_hw_free, context)
        if preset:
            if preset not in preset_names():
                raise _unknown("preset", preset, preset_names())
            context.check(lib.cgc_hw_preset(self.pointer, encode(preset)))
        for name, value in values.items():
            setattr(self, name, value)

    @classmethod
    def preset(cls, name: str, **values: float) -> HWConfig:
        """Return a named description, with some parameters changed."""
        return cls(name, **values)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> HWConfig:
        """Read {"array_size": 16, ...}; parameters that are not in the file have their defaults."""
        hw = cls()
        hw._context.check(lib.cgc_hw_load_json(hw.pointer, encode(str(path))))
        return hw

    @staticmethod
    def presets() -> list[str]:
        """Return the names that preset() takes."""
        return preset_names()

    @staticmethod
    def meanings() -> dict[str, str]:
        """Return {parameter: meaning}."""
        return parameter_meanings()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in parameter_meanings():
            # AttributeError too, so that hasattr() and copy protocols work.
            raise AttributeError(str(_unknown("hardware parameter", name, list(parameter_meanings()))))
        value = ffi.new("double *")
        self._context.check(lib.cgc_hw_get(self.pointer, encode(name), value))
        return int(value[0]) if value[0].is_integer() else value[0]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if name not in parameter_meanings():
            raise _unknown("hardware parameter", name, list(parameter_meanings()))
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TargetError(
                f"{name}: a hardware value is not a number",
                setting=name,
                found=repr(value),
                wanted="a number",
            ) from None
        self._context.check(lib.cgc_hw_set(self.pointer, encode(name), number))

    def values(self) -> dict[str, float]:
        """Return {parameter: value}."""
        return {name: getattr(self, name) for name in parameter_meanings()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HWConfig) and self.values() == other.values()

    __hash__ = None  # type: ignore[assignment] # it can be changed

    def __repr__(self) -> str:
        defaults = HWConfig().values()
        changed = {name: value for name, value in self.values().items() if value != defaults[name]}
        return f"HWConfig({', '.join(f'{name}={value}' for name, value in changed.items())})"


def checked_hw(hw: HWConfig | None) -> HWConfig:
    """Return the hardware, None is the default; an error for what is no HWConfig, as the name of a preset."""
    if hw is None:
        return HWConfig()
    if not isinstance(hw, HWConfig):
        raise TargetError(
            "the hardware is not a HWConfig",
            setting="hw",
            found=repr(hw),
            wanted="a HWConfig",
            cure="use HWConfig(array_size=8, ...), HWConfig.preset(name) or HWConfig.from_json(path)",
        )
    return hw
