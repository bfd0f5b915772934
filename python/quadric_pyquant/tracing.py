# SPDX-License-Identifier: Apache-2.0
"""Symbolic tracing (torch.fx) of parts of a model, and a new forward for a traced module.

A module with a rewritten forward keeps its identity, class name and attributes: it gets a subclass of its
own class whose forward is the printed graph. Such a module can be copied and pickled.
"""

from __future__ import annotations

import importlib
import inspect
import operator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn

from quadric_pyquant.modules import Add, FloatModule, PaddedConv2d, QuantModule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SUBCLASSES: dict[tuple[type, str, str], type] = {}


class _InPlaceProxy(fx.Proxy):
    """A traced value on which x += y stays in place: fx alone would trace x = x + y."""


def _in_place(function: Callable[..., Any]) -> Callable[[fx.Proxy, Any], fx.Proxy]:
    def method(self: fx.Proxy, other: Any) -> fx.Proxy:
        made: fx.Proxy = self.tracer.create_proxy("call_function", function, (self, other), {})
        return made

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul"):
    setattr(_InPlaceProxy, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))


class PartTracer(fx.Tracer):
    """Traces one module; is_leaf decides which modules inside stay whole, fixed holds known arguments."""

    def __init__(self, is_leaf: Callable[[nn.Module], bool], fixed: Mapping[str, Any]) -> None:
        super().__init__()
        self._is_leaf, self._fixed = is_leaf, fixed

    def create_args_for_root(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """Return (forward, its arguments): symbols, known values in place of some."""
        forward, given = super().create_args_for_root(*args, **kwargs)
        known = [
            self._fixed.get(str(arg.node.target), arg) if isinstance(arg, fx.Proxy) else arg for arg in given
        ]
        return forward, known

    def proxy(self, node: fx.Node) -> fx.Proxy:
        """Return the value that stands for a node."""
        return _InPlaceProxy(node, self)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:  # noqa: ARG002 - fx's signature
        """Return whether a module stays one node."""
        return self._is_leaf(m)


def trace(
    module: nn.Module, is_leaf: Callable[[nn.Module], bool], fixed: Mapping[str, Any]
) -> tuple[fx.Graph | None, str]:
    """Return (graph, "") or (None, why the module cannot be traced)."""
    if type(module).__module__.startswith("torch.jit"):
        return None, "it is a TorchScript module"
    try:
        return PartTracer(is_leaf, fixed).trace(module), ""
    except Exception as problem:  # noqa: BLE001 - forward is the user's code: anything can be raised
        text = str(problem).strip().split("\n")[0]
        return None, f"{type(problem).__name__}: {text[:160]}"


def is_literal(value: Any) -> bool:
    """Return whether a value is a plain constant: it can be compared, and written down."""
    if isinstance(value, tuple | list):
        return all(map(is_literal, value))
    return value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.device)


def is_same_literal(a: Any, b: Any) -> bool:
    """Return whether two values are the same plain constant."""
    return a is b or (type(a) is type(b) and is_literal(a) and is_literal(b) and bool(a == b))


def is_torch_layer(module: nn.Module) -> bool:
    """Return whether a module is one of torch's (or ours): its forward is known and not traced."""
    if isinstance(module, Add | PaddedConv2d | QuantModule | FloatModule):
        return True
    forward = getattr(type(module), "forward", None)
    return str(getattr(forward, "__module__", "")).startswith(("torch.nn", "torch.ao.nn"))


def replace_forward(module: nn.Module, graph: fx.Graph, fixed: Mapping[str, Any]) -> None:
    """Make the graph the module's forward; it holds while the fixed arguments have their values."""
    graph.lint()
    code = graph.python_code("self")
    base = _origin(type(module))
    source = _guarded(code.src, base, fixed)
    module.__class__ = _subclass(base, source, dict(code.globals), dict(fixed))


def _origin(cls: type) -> type:
    origin: type = cls.__dict__.get("_rewritten_from", cls)
    return origin


def _guarded(source: str, base: Any, fixed: Mapping[str, Any]) -> str:
    """Return the source of forward with a way back to the original for other values of fixed arguments."""
    if not fixed:
        return source
    passed = []
    for name, parameter in inspect.signature(base.forward).parameters.items():
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        prefix = "**" if parameter.kind is parameter.VAR_KEYWORD else stars
        passed.append(f"{name}={name}" if parameter.kind is parameter.KEYWORD_ONLY else prefix + name)
    lines = source.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("def forward("))
    tests = " and ".join(f"_is_same({name}, _fixed[{name!r}])" for name in fixed)
    lines.insert(start + 1, f"    if not ({tests}): return _original({', '.join(passed)})")
    return "\n".join(lines)


def _subclass(base: Any, source: str, names: dict[str, Any], fixed: dict[str, Any]) -> type:
    """Return the subclass of base whose forward is this source; one per source and fixed values."""
    key = (base, source, repr(fixed))
    if key not in _SUBCLASSES:
        scope = {**names, "__name__": base.__module__}
        scope |= {"_is_same": is_same_literal, "_fixed": fixed, "_original": base.forward}
        exec(compile(source, f"<{base.__qualname__}.forward, rewritten>", "exec"), scope)  # noqa: S102
        attributes = {
            "__module__": base.__module__,
            "__qualname__": base.__qualname__,
            "__doc__": base.__doc__,
            "__reduce_ex__": _reduce,
            "forward": scope["forward"],
            "_rewritten_from": base,
            "_rewritten": (source, names, fixed),
        }
        _SUBCLASSES[key] = type(base.__name__, (base,), attributes)
    made: type = _SUBCLASSES[key]
    return made


def _reduce(self: Any, protocol: Any) -> tuple[Any, ...]:  # noqa: ARG001 - the signature of __reduce_ex__
    """Pickle and copy by original class, source and the names that the source uses."""
    cls = type(self)
    source, names, fixed = cls._rewritten
    packed = {
        name: ("module", value.__name__) if isinstance(value, ModuleType) else ("value", value)
        for name, value in names.items()
    }
    state = self.__getstate__() if hasattr(cls._rewritten_from, "__getstate__") else self.__dict__
    return _rebuild, (cls._rewritten_from, source, packed, fixed), dict(state)


def _rebuild(base: type, source: str, packed: dict[str, tuple[str, Any]], fixed: dict[str, Any]) -> Any:
    names = {
        name: importlib.import_module(value) if kind == "module" else value
        for name, (kind, value) in packed.items()
    }
    cls: Any = _subclass(base, source, names, fixed)
    return cls.__new__(cls)
