# SPDX-License-Identifier: Apache-2.0
"""Simulated cycles of networks on two arrays, beside the roofline, and how long the tools take.

    python bench/epu.py --models resnet18 --json FILE

JSON: {"rows": [{"model", "array_size", "macs_per_pe", "num_cores", "ocm_size", "lrm_size", "cycles",
"roofline_cycles", "mac_utilization", "ddr_bytes"}]}, the input's quantization included; roofline_cycles =
max(MACs / (array_size^2 * macs_per_pe), DDR bytes / bandwidth). The table also shows the seconds of
compiling, cross-compiling and compiling for the host (tools warm) and of one simulation, and in brackets the
seconds of processor time, which another load on the machine changes less.
Exit status 1 if the account of a run does not add up or its bytes differ from the interpreter's: busy and
stalled cycles of each queue and the cycles of all layers must be the total, which is never below the
roofline, and no layer uses more multipliers than there are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from networks import NETWORKS, quantized_graph

from opencgc import HWConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from opencgc import ChimeraModule, Graph

GEOMETRIES: list[dict[str, float]] = [
    {"array_size": 16, "macs_per_pe": 8},
    {"array_size": 8, "macs_per_pe": 16},
]
COMMON: dict[str, float] = {"num_cores": 1, "ocm_size": 4 << 20, "lrm_size": 4096, "ddr_bytes_per_cycle": 16}
PARAMETERS = ("array_size", "macs_per_pe", "num_cores", "ocm_size", "lrm_size")
FIGURES = ("cycles", "roofline_cycles", "mac_utilization", "ddr_bytes")
STAGES = ("compile", "cross", "host", "simulate")


Seconds = tuple[float, float]  # wall clock; processor, of this process and those that it started


def seconds(work: Callable[[], Any]) -> Seconds:
    """Return how long it took."""

    def clocks() -> tuple[float, float]:
        used = os.times()
        return time.perf_counter(), used.user + used.system + used.children_user + used.children_system

    wall, cpu = clocks()
    work()
    wall_after, cpu_after = clocks()
    return wall_after - wall, cpu_after - cpu


@dataclass
class Result:
    """One model on one array."""

    row: dict[str, Any]
    took: dict[str, Seconds]
    faults: list[str]


def find_faults(report: dict[str, Any], hw: HWConfig) -> list[str]:
    """Return what does not add up in the account of a simulated run."""
    total, layers = report["total"], report["layers"]
    cycles = total["cycles"]
    faults = []
    for name, queue in total["queues"].items():
        account = sum(count for kind, count in queue.items() if kind != "ops")
        if account != cycles:
            faults.append(f"{name}: busy and stalls are {account} cycles of {cycles}")
    peak = hw.array_size**2 * hw.macs_per_pe
    roofline = max(-(-total["macs"] // peak), -(-total["ddr_bytes"] // hw.ddr_bytes_per_cycle))
    if total["roofline_cycles"] != roofline or cycles < roofline:
        faults.append(f"{cycles} cycles, roofline {roofline} (reported: {total['roofline_cycles']})")
    faults += [
        f"{key} of the layers are not the total's"
        for key in ("cycles", "macs", "ddr_bytes")
        if sum(layer[key] for layer in layers) != total[key]
    ]
    faults += [
        f"layer {layer['layer']}: {layer['cycles']} cycles, at least {layer['roofline_cycles']} are needed"
        for layer in layers
        if layer["cycles"] < layer["roofline_cycles"] or layer["mac_utilization"] > 1
    ]
    return faults


def time_tools(
    graph: Graph, name: str, hw: HWConfig, folder: Path
) -> tuple[ChimeraModule, dict[str, Seconds]]:
    """Compile a graph and build it both ways, each stage with warm tools."""
    modules = []
    took = {"compile": seconds(lambda: modules.append(graph.compile(name, hw, folder)))}
    module = modules[0]
    module.build("iss", flags="-DWARM_UP=1")  # another build: the cross compiler makes its runtime once
    took["cross"] = seconds(lambda: module.build("iss"))
    took["host"] = seconds(lambda: module.build("host"))
    return module, took


def measure(graph: Graph, name: str, hw: HWConfig, folder: Path) -> Result:
    """Simulate a graph on one array."""
    shape = next(iter(graph.inputs.values())).shape
    x = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    wanted = next(iter(graph.run(x).values()))
    module, took = time_tools(graph, name, hw, folder)
    results: list[dict[str, np.ndarray[Any, Any]]] = []
    took["simulate"] = seconds(lambda: results.append(module.run(x, "iss")))
    got = next(iter(results[0].values()))
    report = module.report.json
    faults = find_faults(report, hw)
    differing = int(np.count_nonzero(wanted.view(np.uint8) != got.view(np.uint8)))
    if differing:
        faults.append(f"{differing} bytes differ from the interpreter's")
    row = {"model": name, **{key: getattr(hw, key) for key in PARAMETERS}}
    row |= {key: report["total"][key] for key in FIGURES}
    return Result(row, took, faults)


def array_name(row: dict[str, Any]) -> str:
    """Return 16x16x8 and the like."""
    return "{array_size}x{array_size}x{macs_per_pe}".format(**row)


def print_table(results: list[Result]) -> None:
    """Print one line per model and array."""
    head = f"{'model':10} {'array':>9} {'LRM':>6} {'OCM':>9} {'cycles':>10} {'roofline':>9} {'util':>6}"
    print(f"{head} {'DDR bytes':>10}" + "".join(f" {stage + ' s':>14}" for stage in STAGES))
    for result in results:
        row = result.row
        line = f"{row['model']:10} {array_name(row):>9} {row['lrm_size']:6} {row['ocm_size']:9}"
        line += f" {row['cycles']:10,} {row['roofline_cycles']:9,} {row['mac_utilization']:6.1%}"
        line += f" {row['ddr_bytes']:10,}"
        print(line + "".join(" {:6.2f} ({:5.2f})".format(*result.took[stage]) for stage in STAGES))


def main() -> int:
    """Measure, report, and say whether the accounts add up."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default="resnet18", help=f"comma list of {', '.join(NETWORKS)}")
    parser.add_argument("--json", type=Path, help="write the rows here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    for name in arguments.models.split(","):
        if name not in NETWORKS:
            parser.error(f"unknown model '{name}'; there are {', '.join(NETWORKS)}")
        graph, origin = quantized_graph(NETWORKS[name])
        print(f"{name}: {origin}", flush=True)
        for geometry in GEOMETRIES:
            with tempfile.TemporaryDirectory(prefix="opencgc-bench-") as folder:
                results.append(measure(graph, name, HWConfig("", **COMMON, **geometry), Path(folder)))
    print_table(results)
    if arguments.json:
        rows = [result.row for result in results]
        arguments.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")
    faults = [
        f"{result.row['model']} on {array_name(result.row)}: {fault}"
        for result in results
        for fault in result.faults
    ]
    for fault in faults:
        print(f"wrong: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
