# SPDX-License-Identifier: Apache-2.0
"""Which nodes of a traced forward may share memory: whether an in-place sum may become a pure one.

Conservative: what is not known to return new memory may return its input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import fx, nn
from torch.nn.modules.dropout import _DropoutNd

from quadric_pyquant.nodes import operator_name
from quadric_pyquant.tracing import is_torch_layer

if TYPE_CHECKING:
    from quadric_pyquant.forwards import Forwards

_FRESH = frozenset(
    {"add", "sub", "mul", "truediv", "div", "matmul", "bmm", "cat", "mean", "interpolate", "pad"}
    | {"conv2d", "linear", "avg_pool2d", "adaptive_avg_pool2d"}
    | {"sigmoid", "tanh", "relu", "gelu", "silu", "softmax"}
)
_ALIASING_LAYERS = (nn.Identity, nn.Flatten, nn.Unflatten, _DropoutNd)


def nodes_after(node: fx.Node) -> set[fx.Node]:
    """Return the nodes that run after a node."""
    after: set[fx.Node] = set()
    current = node.next
    while current.op != "root":
        after.add(current)
        current = current.next
    return after


class Aliases:
    """Memory of the values in one module's forward."""

    def __init__(self, root: nn.Module, forwards: Forwards) -> None:
        self.root, self.forwards = root, forwards

    def may_become_pure(self, node: fx.Node) -> bool:
        """Return whether only users of the name `node.args[0]` can see what an in-place sum changes."""
        changed: Any = node.args[0]
        aliases, after = self.of(changed, node), nodes_after(node)
        if any(alias.op in ("placeholder", "get_attr") for alias in aliases):
            return False
        return not any(user in after for alias in aliases if alias is not changed for user in alias.users)

    def of(self, node: fx.Node, but: fx.Node | None = None) -> set[fx.Node]:
        """Return the nodes that may be the same memory as a node, itself included; none through `but`."""
        found, todo = {node}, [node]
        while todo:
            current = todo.pop()
            near = [] if self._is_fresh(current) else list(current.all_input_nodes)
            near += [user for user in current.users if not self._is_fresh(user)]
            for other in near:
                if other not in found and other is not but:
                    found.add(other)
                    todo.append(other)
        return found

    def _is_fresh(self, node: fx.Node) -> bool:
        """Return whether a node's value is new memory."""
        if node.op == "output":
            return True
        if node.op == "call_module":
            return self.makes_memory(self.root.get_submodule(str(node.target)))
        if node.op in ("placeholder", "get_attr"):
            return False
        return operator_name(node) in _FRESH and not node.kwargs.get("inplace", False)

    def makes_memory(self, module: nn.Module) -> bool:
        """Return whether a module's result is never its input's memory."""
        if isinstance(module, nn.Sequential):
            return any(map(self.makes_memory, module.children()))
        if is_torch_layer(module):
            return not isinstance(module, _ALIASING_LAYERS) and not getattr(module, "inplace", False)
        graph = self.forwards.graphs.get(module)
        if graph is None:
            return False
        aliases = Aliases(module, self.forwards)
        result = next(node for node in graph.nodes if node.op == "output")
        sources = {alias for value in result.all_input_nodes for alias in aliases.of(value)}
        return not any(alias.op in ("placeholder", "get_attr") for alias in sources)
