# SPDX-License-Identifier: Apache-2.0
"""Symbolic tracing (torch.fx) of parts of a model, and a new forward for a traced module.

A module with a rewritten forward keeps its identity, class name and attributes: it gets a subclass of its
own class whose forward is the printed graph. Such a module can be copied and pickled.
"""

from __future__ import annotations

import importlib
import operator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch import fx, nn

from quadric_pyquant.modules import Add, FloatModule, PaddedConv2d, QuantModule

if TYPE_CHECKING:
    from collections.abc import Callable

_SUBCLASSES: dict[tuple[type, str], type] = {}


class _InPlaceProxy(fx.Proxy):
    """A traced value on which x += y stays in place: fx alone would trace x = x + y."""


def _in_place(function: Callable[..., Any]) -> Callable[[fx.Proxy, Any], fx.Proxy]:
    def method(self: fx.Proxy, other: Any) -> fx.Proxy:
        made: fx.Proxy = self.tracer.create_proxy("call_function", function, (self, other), {})
        return made

    return method


for _name in (
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "iand",
    "ior",
    "ixor",
    "imatmul",
):
    setattr(_InPlaceProxy, f"__{_name}__", _in_place(getattr(operator, _name)))


class PartTracer(fx.Tracer):
    """Traces one module; is_leaf decides which modules inside stay whole."""

    def __init__(self, is_leaf: Callable[[nn.Module], bool]) -> None:
        super().__init__()
        self._is_leaf = is_leaf

    def proxy(self, node: fx.Node) -> fx.Proxy:
        """Return the value that stands for a node."""
        return _InPlaceProxy(node, self)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:  # noqa: ARG002 - fx's signature
        """Return whether a module stays one node."""
        return self._is_leaf(m)


def trace(module: nn.Module, is_leaf: Callable[[nn.Module], bool]) -> tuple[fx.Graph | None, str]:
    """Return (graph, "") or (None, why the module cannot be traced)."""
    if type(module).__module__.startswith("torch.jit"):
        return None, "it is a TorchScript module"
    try:
        return PartTracer(is_leaf).trace(module), ""
    except Exception as problem:  # noqa: BLE001 - forward is the user's code: anything can be raised
        text = str(problem).strip().split("\n")[0]
        return None, f"{type(problem).__name__}: {text[:160]}"


def trace_alone(module: nn.Module) -> tuple[fx.Graph | None, str]:
    """Trace the module's own forward; every child stays one node."""
    return trace(module, lambda _: True)


def is_torch_layer(module: nn.Module) -> bool:
    """Return whether a module is one of torch's (or ours): its forward is known and not traced."""
    if isinstance(module, Add | PaddedConv2d | QuantModule | FloatModule):
        return True
    forward = getattr(type(module), "forward", None)
    return str(getattr(forward, "__module__", "")).startswith(("torch.nn", "torch.ao.nn"))


def replace_forward(module: nn.Module, graph: fx.Graph) -> None:
    """Make the graph the module's forward."""
    graph.lint()
    code = graph.python_code("self")
    module.__class__ = _subclass(_origin(type(module)), code.src, dict(code.globals))


def _origin(cls: type) -> type:
    origin: type = cls.__dict__.get("_rewritten_from", cls)
    return origin


def _subclass(base: type, source: str, names: dict[str, Any]) -> type:
    """Return the subclass of base whose forward is this source; one per source."""
    key = (base, source)
    if key not in _SUBCLASSES:
        scope = {**names, "__name__": base.__module__}
        exec(compile(source, f"<{base.__qualname__}.forward, rewritten>", "exec"), scope)  # noqa: S102
        attributes = {
            "__module__": base.__module__,
            "__qualname__": base.__qualname__,
            "__doc__": base.__doc__,
            "__reduce_ex__": _reduce,
            "forward": scope["forward"],
            "_rewritten_from": base,
            "_rewritten_source": source,
            "_rewritten_names": names,
        }
        _SUBCLASSES[key] = type(base.__name__, (base,), attributes)
    made: type = _SUBCLASSES[key]
    return made


def _reduce(self: Any, protocol: Any) -> tuple[Any, ...]:  # noqa: ARG001 - the signature of __reduce_ex__
    """Pickle and copy by original class, source and the names that the source uses."""
    cls = type(self)
    names = {
        name: ("module", value.__name__) if isinstance(value, ModuleType) else ("value", value)
        for name, value in cls._rewritten_names.items()
    }
    state = self.__getstate__() if hasattr(cls._rewritten_from, "__getstate__") else self.__dict__
    return _rebuild, (cls._rewritten_from, cls._rewritten_source, names), dict(state)


def _rebuild(base: type, source: str, names: dict[str, tuple[str, Any]]) -> Any:
    scope = {
        name: importlib.import_module(value) if kind == "module" else value
        for name, (kind, value) in names.items()
    }
    cls: Any = _subclass(base, source, scope)
    return cls.__new__(cls)
