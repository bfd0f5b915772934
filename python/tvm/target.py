# SPDX-License-Identifier: Apache-2.0
"""tvm.target.epu: the hardware that build_relay compiles for, as a context manager."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opencgc.errors import TargetError
from opencgc.hw import HWConfig

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_stack: ContextVar[tuple[EpuTarget, ...]] = ContextVar("targets", default=())


class EpuTarget:
    """A target; `with target:` makes it the current one."""

    def __init__(self, model: str, hw: HWConfig) -> None:
        self.model = model
        self.hw = hw

    def __enter__(self) -> Self:
        _stack.set((*_stack.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _stack.set(_stack.get()[:-1])

    @staticmethod
    def current() -> EpuTarget:
        """Return the innermost target; an error outside of any."""
        stack = _stack.get()
        if not stack:
            raise TargetError(
                "there is no target to compile for",
                setting="target",
                found="no active target",
                wanted="a tvm.target.epu(...)",
                cure="with tvm.target.epu(array_size=16, macs_per_pe=8): build_relay(...)",
            )
        return stack[-1]

    def __repr__(self) -> str:
        return f"epu(model={self.model!r}, {self.hw!r})"


def epu(  # noqa: PLR0913, PLR0917 - the geometry, by the names of the reference
    model: str = "",
    array_size: int | None = None,
    macs_per_pe: int | None = None,
    ocm_size: int | None = None,
    lrm_size: int | None = None,
    num_cores: int | None = None,
    *,
    hw_config: HWConfig | None = None,
) -> EpuTarget:
    """Return a target. model names a preset or is ""; sizes are in bytes.

    What is not given comes from hw_config, else from the preset, else from the defaults.
    """
    base = HWConfig.preset(model) if model else HWConfig()
    values: dict[str, Any] = hw_config.values() if hw_config is not None else base.values()
    given = {
        "array_size": array_size,
        "macs_per_pe": macs_per_pe,
        "ocm_size": ocm_size,
        "lrm_size": lrm_size,
        "num_cores": num_cores,
    }
    values.update({name: value for name, value in given.items() if value is not None})
    return EpuTarget(model, HWConfig(**values))
