# SPDX-License-Identifier: Apache-2.0
"""absorb_padding: a zero pad becomes part of the convolution behind it.

Networks from other frameworks pad unevenly in front of strided convolutions, with nn.ZeroPad2d,
functional.pad or a convolution class of their own. The int8 convolution pads with its zero point, which is
exactly 0, so pad and convolution are one operator. The model's values do not change.
"""

from __future__ import annotations

from typing import Any

from torch import fx, nn
from torch.nn import functional

from quadric_pyquant.calls import Calls, replace_module
from quadric_pyquant.forwards import Forwards
from quadric_pyquant.modules import PaddedConv2d
from quadric_pyquant.modules.geometry import pair
from quadric_pyquant.tracing import is_torch_layer

CONV_ARGUMENTS = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
NO_BORDER = [0, 0, 0, 0]


def absorb_padding(model: nn.Module) -> nn.Module:
    """Merge zero pads into convolutions in place; return the model."""
    while _absorb(model):
        pass
    return model


def _absorb(model: nn.Module) -> int:
    """Merge each pad that stands right before its convolution; return how many were merged."""
    count = 0
    forwards = Forwards(model)
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and not is_torch_layer(module):
            _simplify(module, forwards)
    found = [pair for parent in forwards.graphs for pair in _pairs(parent, forwards)]
    if not found:
        return 0
    calls = Calls.of(model).calls
    for parent, pad, conv, border in found:
        if len(calls.get(conv, [])) != 1:
            continue
        if pad.op == "call_module":
            pad_module = parent.get_submodule(str(pad.target))
            if len(calls.get(pad_module, [])) != 1:
                continue
            replace_module(model, pad_module, nn.Identity().eval())
        elif forwards.fixed[parent]:
            continue  # the original forward, with its pad, may still run
        else:
            pad.replace_all_uses_with(pad.all_input_nodes[0])
            pad.graph.erase_node(pad)
            forwards.rewrite(parent)
        PaddedConv2d.adopt(conv, border)
        count += 1
    return count


def _pairs(parent: nn.Module, forwards: Forwards) -> list[tuple[nn.Module, fx.Node, Any, list[int]]]:
    """Return (parent, pad node, convolution, border) for each zero pad that only a convolution reads."""
    pairs = []
    for pad in forwards.graphs[parent].nodes:
        border = _border(parent, pad)
        if border is None:
            continue
        conv = _only_reader(parent, pad)
        plain = isinstance(conv, nn.Conv2d) and is_torch_layer(conv)
        if plain and (conv.padding_mode == "zeros" or conv.padding in ("valid", (0, 0))):
            pairs.append((parent, pad, conv, border))
    return pairs


def _only_reader(parent: nn.Module, node: fx.Node) -> Any:
    """Return the module that is the only reader of a node, through Identity; None if there are more."""
    module: Any = nn.Identity()
    while isinstance(module, nn.Identity):
        users = list(node.users)
        if len(users) != 1 or users[0].op != "call_module":
            return None
        node = users[0]
        module = parent.get_submodule(str(node.target))
    return module


def _border(parent: nn.Module, node: fx.Node) -> list[int] | None:
    """Return [top, left, bottom, right] of a node that pads an image with zeros, None for other nodes."""
    sides: Any = None
    if node.op == "call_module":
        module = parent.get_submodule(str(node.target))
        if isinstance(module, nn.ZeroPad2d) or (isinstance(module, nn.ConstantPad2d) and module.value == 0):
            sides = module.padding
    elif node.target is functional.pad and len(node.all_input_nodes) == 1:
        given = dict(zip(("input", "pad", "mode", "value"), node.args, strict=False)) | dict(node.kwargs)
        if given.get("mode", "constant") == "constant" and not given.get("value"):
            sides = given["pad"]
    if sides is None or len(sides) not in (2, 4):
        return None
    left, right, top, bottom = (*sides, 0, 0)[:4]
    border = [int(side) for side in (top, left, bottom, right)]
    return border if min(border) >= 0 else None


def _simplify(conv: nn.Conv2d, forwards: Forwards) -> None:
    """Turn a convolution class of the user's that only pads and convolves into PaddedConv2d."""
    graph = forwards.graphs.get(conv)
    dropped = []
    body = [node for node in graph.nodes if node.op not in ("placeholder", "get_attr")] if graph else []
    border = NO_BORDER
    while len(body) > 2:
        pad = body.pop(0)
        identity = pad.op == "call_module" and isinstance(conv.get_submodule(str(pad.target)), nn.Identity)
        wider = NO_BORDER if identity or _passes_through(conv, pad, forwards) else _border(conv, pad)
        if wider is None or list(pad.users) != [body[0]]:
            return
        border = [a + b for a, b in zip(border, wider, strict=True)]
        dropped += [str(pad.target)] if pad.op == "call_module" else []
    if len(body) != 2 or body[0].target is not functional.conv2d:
        return
    given = dict(zip(CONV_ARGUMENTS, body[0].args, strict=False)) | dict(body[0].kwargs)
    weights = [getattr(given.get(name), "target", None) for name in ("weight", "bias")]
    numbers = [
        given.get("stride", 1),
        given.get("padding", 0),
        given.get("dilation", 1),
        given.get("groups", 1),
    ]
    if weights != ["weight", None if conv.bias is None else "bias"] or _has_nodes(numbers):
        return
    stride, padding, dilation, groups = numbers
    conv.stride, conv.dilation, conv.groups = tuple(pair(stride)), tuple(pair(dilation)), groups
    conv.padding = padding if isinstance(padding, str) else tuple(pair(padding))
    conv.padding_mode = "zeros"
    for name in dropped:
        conv.set_submodule(name, nn.Identity().eval())
    PaddedConv2d.adopt(conv, border)


def _passes_through(parent: nn.Module, node: fx.Node, forwards: Forwards) -> bool:
    """Return whether a node is a module whose own forward returns its input."""
    if node.op != "call_module":
        return False
    module = parent.get_submodule(str(node.target))
    graph = forwards.graphs.get(module)
    return graph is not None and [n.op for n in graph.nodes] == ["placeholder", "output"]


def _has_nodes(values: list[Any]) -> bool:
    found: list[fx.Node] = []
    fx.node.map_arg(values, found.append)
    return bool(found)
