# SPDX-License-Identifier: Apache-2.0
"""Restructuring before quantization: functional operators become child modules, shared layers become several.

Each module with a forward of its own is traced alone. Functional sums and average pools in it become
children (layer1.0.add), and a layer that is called twice becomes two layers that share their weights, so
that each call has its own ranges. The values of the model do not change. What cannot be traced stays and is
reported.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quadric_pyquant.aliasing import Aliases, nodes_after
from quadric_pyquant.forwards import Forwards
from quadric_pyquant.modules import QUANTIZED, Add
from quadric_pyquant.nodes import average_pool, changes_first, is_glue, is_sum, operator_name
from quadric_pyquant.padding import absorb_padding
from quadric_pyquant.tags import join, layer_name
from quadric_pyquant.tracing import is_torch_layer

if TYPE_CHECKING:
    from torch import fx, nn


@dataclass
class Report:
    """What restructuring could not do."""

    untraced: list[tuple[str, str]] = field(default_factory=list)  # (layer, reason)
    float_operators: list[tuple[str, str]] = field(default_factory=list)  # (layer, operator)


def clone_sharing(module: nn.Module) -> nn.Module:
    """Return a copy of a module with its own submodules and the same parameters and buffers."""
    shared: dict[int, Any] = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    return copy.deepcopy(module, shared)


def restructure(model: nn.Module) -> Report:
    """Restructure the model in place and report what stays functional."""
    report = Report()
    absorb_padding(model)
    _separate_registrations(model, "", set())
    forwards = Forwards(model)
    for path, module in reversed(list(model.named_modules())):  # children before their parents
        if not is_torch_layer(module):
            _Rewriter(module, layer_name(module, path), report, forwards).run()
    report.untraced.reverse()
    report.float_operators.reverse()
    return report


def _has_layers(module: nn.Module) -> bool:
    kinds = tuple(QUANTIZED)
    return any(isinstance(part, kinds) for part in module.modules())


def _retag(module: nn.Module, name: str) -> None:
    for path, part in module.named_modules():
        part.layer_name = join(name, path) if path else name


def _share(original: nn.Module, name: str) -> nn.Module:
    """Return a clone of a layer for another call of it."""
    clone = clone_sharing(original)
    _retag(clone, name)
    for module in (original, clone):
        for part in module.modules():
            part.shares_weights = True
    return clone


def _separate_registrations(module: nn.Module, path: str, seen: set[int]) -> None:
    """Give a layer that is registered under two names two modules with one weight."""
    for name, child in list(module._modules.items()):  # noqa: SLF001 - named_children() hides the second name
        if child is None:
            continue
        child_path = join(path, name)
        if id(child) in seen and _has_layers(child):
            tag = join(layer_name(module, path), name)
            module._modules[name] = _share(child, tag)  # noqa: SLF001
        elif id(child) not in seen:
            seen.add(id(child))
            _separate_registrations(child, child_path, seen)


class _Rewriter:
    """Rewrites the forward of one module."""

    def __init__(self, module: nn.Module, name: str, report: Report, forwards: Forwards) -> None:
        self.module, self.name, self.report, self.forwards = module, name, report, forwards
        self.aliases = Aliases(module, forwards)
        self.changed = False

    def run(self) -> None:
        """Edit the traced graph, and replace the forward if anything was edited."""
        graph = self.forwards.graphs.get(self.module)
        if graph is None:
            self.report.untraced.append((self.name, self.forwards.reasons[self.module]))
            return
        for node in list(graph.nodes):
            self._visit(graph, node)
        self._separate_calls(graph)
        if self.changed:
            self.forwards.rewrite(self.module)

    def _visit(self, graph: fx.Graph, node: fx.Node) -> None:
        if node.op not in ("call_function", "call_method"):
            return
        if is_sum(node) and (not changes_first(node) or self.aliases.may_become_pure(node)):
            self._insert(graph, node, Add(), "add", node.args)
        elif (pool := average_pool(node)) is not None:
            self._insert_pool(graph, node, *pool)
        elif not is_glue(node):
            self.report.float_operators.append((self.name, operator_name(node)))

    def _insert_pool(self, graph: fx.Graph, node: fx.Node, module: nn.Module, flat: bool) -> None:
        call = self._insert(graph, node, module, "avg_pool", node.all_input_nodes)
        if flat:
            with graph.inserting_after(call):
                flattened = graph.call_method("flatten", (call, 1))
            call.replace_all_uses_with(flattened, delete_user_cb=lambda user: user is not flattened)

    def _insert(self, graph: fx.Graph, node: fx.Node, module: nn.Module, base: str, args: Any) -> fx.Node:
        """Replace a functional node by the call of a new child."""
        child = self._add_child(module, base)
        with graph.inserting_before(node):
            call = graph.call_module(child, tuple(args))
        if is_sum(node) and changes_first(node):
            changed: Any = node.args[0]
            after = nodes_after(node)
            for user in list(changed.users):
                if user in after:
                    user.replace_input_with(changed, call)
        node.replace_all_uses_with(call)
        graph.erase_node(node)
        self.changed = True
        return call

    def _add_child(self, module: nn.Module, base: str) -> str:
        child, count = base, 0
        while hasattr(self.module, child):
            count += 1
            child = f"{base}_{count}"
        module.train(self.module.training)
        _retag(module, join(self.name, child))
        self.module.add_module(child, module)
        return child

    def _separate_calls(self, graph: fx.Graph) -> None:
        """Give the second and later call of a layer a layer of its own, with shared weights."""
        seen: set[nn.Module] = set()
        for node in list(graph.nodes):
            if node.op != "call_module":
                continue
            target = self.module.get_submodule(node.target)
            if target not in seen:
                seen.add(target)
            elif _has_layers(target):
                node.target = self._add_child(_share(target, ""), str(node.target).replace(".", "_"))
                self.changed = True
