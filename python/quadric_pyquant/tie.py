# SPDX-License-Identifier: Apache-2.0
"""Quantization parameters of a model from its layers' ranges and its dataflow (docs/numerics.md, rule 13).

A producer and every layer that reads its output through relu, clip, max-pool, reshape or moves form a group
with one scale and zero point: int8 stays int8 between them. The group's range is what its readers see:
behind a relu the negative half needs no codes. A reader fed by several producers keeps parameters of its
own; the graph then shows a visible rescale. Average pools are given their role here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quadric_pyquant.arithmetic import Affine, affine_of_range
from quadric_pyquant.flow import (
    AFTER_AVERAGE,
    BEFORE_AVERAGE,
    CALL,
    TRANSPARENT,
    Bounds,
    Dataflow,
    Step,
)
from quadric_pyquant.modules import QAvgPool2d, QuantModule

if TYPE_CHECKING:
    from collections.abc import Iterator

Port = tuple[QuantModule, str]
Ranges = dict[Port, Bounds]


@dataclass
class Group:
    """A producer, the operands that share its parameters, and the range they need."""

    producer: QuantModule
    readers: set[Port] = field(default_factory=set)
    ranges: list[Bounds] = field(default_factory=list)


@dataclass
class Parameters:
    """Parameters of every port, the pools that are float32, and which inputs share a producer's scale."""

    affine: dict[Port, Affine]
    float_pools: set[QuantModule]
    tied: int
    untied: list[Port]


def _readers(
    flow: Dataflow, value: int, through: frozenset[str], bounds: Bounds
) -> Iterator[tuple[Step, int, Bounds]]:
    """Yield (step, value, range of the value) for each reader of a value through transparent steps."""
    for step in flow.readers.get(value, []):
        if step.kind in through:
            low, high = (min(max(end, step.bounds[0]), step.bounds[1]) for end in bounds)
            for result in step.outputs[:1] if step.kind == "max_pool" else step.outputs:
                yield from _readers(flow, result, through, (low, high))
        else:
            yield step, value, bounds


def _ports(step: Step, value: int) -> list[Port]:
    """Return the operands of a layer call that are this value."""
    if step.kind != CALL or step.module is None:
        return []
    names = zip(step.module.operands, step.inputs, strict=True)
    return [(step.module, name) for name, read in names if read == value]


def _is_real(module: QuantModule | None) -> bool:
    """Return whether a layer stands between a quantize and a dequantize in the graph (pools do not)."""
    return module is not None and not isinstance(module, QAvgPool2d)


def _is_integer_average(flow: Dataflow, call: Step) -> bool:
    """Return whether the graph means the integer average for this call of a pool."""
    value = call.inputs[0]
    while (maker := flow.maker.get(value)) is not None and maker.kind in BEFORE_AVERAGE:
        value = maker.inputs[0]
    if maker is None or not _is_real(maker.module) or not maker.module.quantizes_output:  # type: ignore[union-attr]
        return False
    readers = _readers(flow, call.outputs[0], AFTER_AVERAGE, (0.0, 0.0))
    return any(_is_real(step.module) for step, _, _ in readers)


def _float_pools(flow: Dataflow) -> set[QuantModule]:
    found: set[QuantModule] = set()
    seen: set[QuantModule] = set()
    for step, module in flow.calls():
        if isinstance(module, QAvgPool2d) and (module in seen or not _is_integer_average(flow, step)):
            found.add(module)
        seen.add(module)
    return found


def _groups(flow: Dataflow, ranges: Ranges, float_pools: set[QuantModule]) -> dict[QuantModule, Group]:
    groups: dict[QuantModule, Group] = {}
    for call, producer in flow.calls():
        if producer in float_pools or not producer.quantizes_output or (producer, "y") not in ranges:
            continue
        group = groups.setdefault(producer, Group(producer))
        for step, value, seen in _readers(flow, call.outputs[0], TRANSPARENT, ranges[producer, "y"]):
            ports = [port for port in _ports(step, value) if port[0] not in float_pools]
            group.readers.update(ports)
            group.ranges += [ranges[port] for port in ports] if ports else [seen]
    return groups


def choose_parameters(flow: Dataflow, ranges: Ranges) -> Parameters:
    """Return the parameters of every operand and output that has a range."""
    float_pools = _float_pools(flow)
    groups = _groups(flow, ranges, float_pools)
    sources: dict[Port, set[QuantModule | None]] = {}
    for call, module in flow.calls():
        for name, value in zip(module.operands, call.inputs, strict=True):
            sources.setdefault((module, name), set()).add(_producer(flow, value, groups))
    affine = {port: affine_of_range(*bounds) for port, bounds in ranges.items()}
    tied, untied = 0, []
    for producer, group in groups.items():
        affine[producer, "y"] = _affine_of_union(group.ranges or [ranges[producer, "y"]])
    for port, makers in sources.items():
        if port[0] in float_pools or port not in ranges:
            continue
        maker = next(iter(makers)) if len(makers) == 1 else None
        if maker is not None and port in groups[maker].readers:
            affine[port] = affine[maker, "y"]
            tied += 1
        elif any(makers):
            untied.append(port)
    return Parameters(affine, float_pools, tied, untied)


def _producer(flow: Dataflow, value: int, groups: dict[QuantModule, Group]) -> QuantModule | None:
    """Return the quantized layer that a value comes from through transparent steps, if there is one."""
    while (maker := flow.maker.get(value)) is not None and maker.kind in TRANSPARENT:
        value = maker.inputs[0]
    return maker.module if maker is not None and maker.module in groups else None


def _affine_of_union(ranges: list[Bounds]) -> Affine:
    return affine_of_range(min(low for low, _ in ranges), max(high for _, high in ranges))
