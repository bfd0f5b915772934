# SPDX-License-Identifier: Apache-2.0
"""Forwards: each forward of a model traced by itself, every child a single call, with what its callers pass.

A parameter that all callers give the same number, flag or None (or leave at its default) is traced as that
value, so `if mask is not None` takes the branch that it really takes; a symbol would not be None. A forward
that is rewritten from such a trace checks the value when it runs, and falls back to the original where it
differs.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn

from quadric_pyquant.tracing import is_literal, is_same_literal, is_torch_layer, replace_forward, trace

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Computed:
    """Stands for an argument that is computed."""


COMPUTED = _Computed()


class Forwards:
    """Traces of all forwards in a model, parents first."""

    def __init__(self, model: nn.Module) -> None:
        self.graphs: dict[nn.Module, fx.Graph] = {}
        self.reasons: dict[nn.Module, str] = {}  # why a forward cannot be traced
        self.fixed: dict[nn.Module, dict[str, Any]] = {}
        self._calls: dict[nn.Module, list[dict[str, Any]]] = {}
        for module in model.modules():
            if isinstance(module, nn.Sequential) or not is_torch_layer(module):
                self._trace(module)

    def rewrite(self, module: nn.Module) -> None:
        """Make the (edited) graph of a module its forward."""
        replace_forward(module, self.graphs[module], self.fixed[module])

    def _trace(self, module: nn.Module) -> None:
        fixed, reason = self._fixed_arguments(module)
        kinds = {parameter.kind for parameter in inspect.signature(type(module).forward).parameters.values()}
        if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY} <= kinds:
            reason = "its forward has keyword-only parameters behind *args"
        graph = None
        if not reason:
            graph, reason = trace(module, lambda _: True, fixed)
        self.fixed[module] = fixed
        if graph is None:
            self.reasons[module] = reason
            return
        self.graphs[module] = graph
        for node in graph.nodes:
            if node.op == "call_module":
                self._note_call(module.get_submodule(str(node.target)), node)

    def _note_call(self, target: nn.Module, node: fx.Node) -> None:
        try:
            bound = inspect.signature(type(target).forward).bind(target, *node.args, **node.kwargs)
        except TypeError:
            return  # the call fails when the model runs, too
        given = {name: COMPUTED if _has_nodes(value) else value for name, value in bound.arguments.items()}
        self._calls.setdefault(target, []).append(given)

    def _fixed_arguments(self, module: nn.Module) -> tuple[dict[str, Any], str]:
        """Return ({parameter: value that every call gives it}, "") or ({}, why there is no one value)."""
        fixed: dict[str, Any] = {}
        calls = self._calls.get(module) or [{}]
        for parameter in _named_parameters(module):
            values = [call.get(parameter.name, parameter.default) for call in calls]
            if all(value is COMPUTED or value is parameter.empty for value in values):
                continue
            if all(is_same_literal(value, values[0]) for value in values):
                fixed[parameter.name] = values[0]
            elif parameter.default is not parameter.empty:
                return {}, f"its calls pass different kinds of '{parameter.name}'"
        return fixed, ""


def _named_parameters(module: nn.Module) -> Iterator[inspect.Parameter]:
    for parameter in list(inspect.signature(type(module).forward).parameters.values())[1:]:
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield parameter


def _has_nodes(value: Any) -> bool:
    found: list[fx.Node] = []
    fx.node.map_arg(value, found.append)
    return bool(found) or isinstance(value, torch.Tensor) or not is_literal(value)
