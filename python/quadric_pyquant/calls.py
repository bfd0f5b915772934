# SPDX-License-Identifier: Apache-2.0
"""Which modules a model calls where: traces of the model, or where that is impossible of the parts inside.

A part is traced through to torch's layers; a module inside that cannot be traced stays one call there, and
its children are parts of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import fx, nn

from quadric_pyquant.forwards import Forwards
from quadric_pyquant.tracing import is_torch_layer, trace

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Calls:
    """Calls of modules in all parts that could be traced."""

    calls: dict[nn.Module, list[tuple[nn.Module, fx.Node]]] = field(default_factory=dict)
    owners: Counter[int] = field(default_factory=Counter)  # id of a parameter: how many modules hold it
    untraced: str = ""

    @classmethod
    def of(cls, model: nn.Module) -> Calls:
        """Trace the model, or where that is impossible the parts inside."""
        flow = cls()
        for module in model.modules():
            flow.owners.update({id(parameter) for parameter in module._parameters.values()})  # noqa: SLF001
        forwards = Forwards(model)
        whole = set(forwards.reasons)
        graph, _ = trace(model, _is_leaf, forwards.fixed.get(model, {}))
        if graph is not None and not _is_leaf(model):
            flow._add(model, graph)
            return flow
        for module, reason in forwards.reasons.items():
            flow.untraced = flow.untraced or f"{type(module).__name__}: {reason}"
        for part in _parts(model, whole):
            fixed = forwards.fixed.get(part, {})
            graph, reason = trace(part, lambda m: _stays_whole(m, whole), fixed)
            if graph is not None:
                flow._add(part, graph)
            else:
                flow.untraced = flow.untraced or reason
        return flow

    def _add(self, part: nn.Module, graph: fx.Graph) -> None:
        for node in graph.nodes:
            if node.op == "call_module":
                self.calls.setdefault(part.get_submodule(node.target), []).append((part, node))


def _is_leaf(module: nn.Module) -> bool:
    return is_torch_layer(module) and not isinstance(module, nn.Sequential)


def _parts(model: nn.Module, whole: set[nn.Module]) -> Iterator[nn.Module]:
    """Yield the model, or in place of a module that cannot be traced its children."""
    todo, seen = [model], set()
    while todo:
        module = todo.pop(0)
        if module in seen:
            continue
        seen.add(module)
        if not _stays_whole(module, whole):
            yield module
        todo += [c for inner in module.modules() if _stays_whole(inner, whole) for c in inner.children()]


def _stays_whole(module: nn.Module, whole: set[nn.Module]) -> bool:
    return module in whole or _is_leaf(module)


def replace_module(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Replace a module under every name it has."""
    if hasattr(old, "layer_name"):
        new.layer_name = old.layer_name
    for parent in model.modules():
        for name, child in parent._modules.items():  # noqa: SLF001 - all names of one module
            if child is old:
                parent._modules[name] = new  # noqa: SLF001
