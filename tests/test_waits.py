# SPDX-License-Identifier: Apache-2.0
"""One wait at a time removed from an emitted program: what the race detector then reports.

The program has every mapping: pixels on PEs in several tiles, channels on PEs with the sum in parts, add,
pools, table, and weights that are streamed through less OCM than they need. Each wait, swait and drain of its
machine code is replaced by a no-op in turn and the program simulated with the race detector.

The detector looks at order, not at times, so a program without a report has the same values at any timing. A
removal without a report is therefore harmless, and the untouched run says why:
  never run               nothing is changed
  implied by other waits  all that it ordered was ordered before: removing it leaves the order as it is
  no byte in common       it did order something, but nothing that touches the same byte (as the report shows)
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

opencgc = pytest.importorskip("opencgc")
pytest.importorskip("ziglang", reason="the cross compiler (PyPI package ziglang) is not installed")

ROOT = Path(__file__).resolve().parent.parent
HW = {"array_size": 4, "macs_per_pe": 8, "lrm_size": 1024, "ocm_size": 28672}
EXIT, DEADLOCK = 1, 4
PLACE = re.compile(r"\((\w+\.c):(\d+)\)$")
MAPPINGS = {
    "conv2d_pixel",
    "conv2d_channel",
    "add",
    "max_pool2d",
    "avg_pool2d",
    "table",
    "quantize",
    "dequantize",
}


class Net:
    """Layers with scale 0.05 and zero point 3 throughout."""

    def __init__(self) -> None:
        self.b, self.rng = opencgc.GraphBuilder(), np.random.default_rng(3)

    def int8(self, *shape: int) -> Any:
        return self.b.constant(self.rng.integers(-128, 128, shape).astype(np.int8))

    def conv(self, x: Any, form: tuple[int, int, int, int], name: str) -> Any:
        cin, cout, kernel, stride = form
        bias = self.b.constant(self.rng.integers(-900, 900, cout).astype(np.int32))
        attrs = (
            f"strides=[{stride}, {stride}], padding={[kernel // 2] * 4}, channels={cout}, "
            f"kernel_size=[{kernel}, {kernel}], bias_fusion=True, x_zero_point=3, x_scale=0.05f, "
            "w_zero_point=0, w_scale=0.01f, y_zero_point=3, y_scale=0.05f"
        )
        return self.b.node(
            "contrib.epu.qlinear_conv2d", [x, self.int8(cout, cin, kernel, kernel), bias], attrs, name
        )

    def graph(self) -> Any:
        node = self.b.node
        q = node("qnn.quantize", [self.b.input("x", (1, 3, 12, 12))], "0.05f, 3")
        first = self.conv(q, (3, 16, 3, 1), "first")
        scales = ", ".join(f"{side}_scale=0.05f, {side}_zero_point=3" for side in "aby")
        y = node("qnn.add", [first, self.conv(first, (16, 16, 3, 1), "second")], scales, "add")
        y = node("nn.max_pool2d", [y], "pool_size=[2, 2], strides=[2, 2]", "pool")
        y = node("contrib.epu.table", [y, self.int8(256)], "", "table")
        y = self.conv(self.conv(y, (16, 128, 1, 1), "wide"), (128, 32, 3, 2), "deep")
        pool = (
            "pool_size=[3, 3], strides=[1, 1], x_scale=0.05f, x_zero_point=3, y_scale=0.05f, y_zero_point=3"
        )
        y = node("reshape", [node("qnn.avg_pool2d", [y], pool, "avgpool")], "newshape=[1, 32]")
        attrs = "units=20, x_scale=0.05f, x_zero_point=3, w_scale=0.01f, y_scale=0.05f, y_zero_point=3"
        y = node("contrib.epu.dense", [y, self.int8(20, 32)], attrs, "fc")
        return self.b.finish([node("qnn.dequantize", [y], "0.05f, 3")])


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("waits")
    return Net().graph().compile("net", opencgc.HWConfig(**HW), folder)


@pytest.fixture(scope="module")
def simulator() -> Path:
    folder = Path(os.environ.get("CGC_BUILD", ROOT / "build" / "c"))
    if not (folder / "build.ninja").exists():
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja"], check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "iss_run"], check=True)
    return folder / "iss_run"


def simulate(simulator: Path, module: Any, *options: str) -> dict[str, Any]:
    module.build("iss")
    settings = [word for k, v in HW.items() for word in ("--set", f"{k}={v}")]
    command = [str(simulator), *options, *settings, str(Path(module.build_path) / "net.elf")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def report(simulator: Path, module: Any) -> dict[str, Any]:
    return simulate(simulator, module, "--waits")


def why(wait: dict[str, Any]) -> str:
    if wait["races"]:
        return "race"
    if wait["runs"] == 0:
        return "never run"
    return "implied by other waits" if wait["ordering"] == 0 else "no byte in common"


def source_line(module: Any, place: str) -> str:
    found = PLACE.search(place)
    assert found, place
    return (Path(module.source_path) / found[1]).read_text().splitlines()[int(found[2]) - 1]


def print_waits(module: Any, waits: list[dict[str, Any]]) -> None:
    """Print one entry per line of the source; a wait in an inlined function has several copies."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for w in waits:
        lines.setdefault(PLACE.search(w["place"])[0], []).append(w)
    for place, copies in sorted(lines.items(), key=lambda item: int(PLACE.search(item[0])[2])):
        kinds = ", ".join(f"{count} x {kind}" for kind, count in Counter(map(why, copies)).items())
        print(f"\n{place} {source_line(module, place).strip()}\n    {kinds}", end="")
        for w in copies:
            for first, second, _ in w["races"][:1]:
                print(f"\n    {first}: {source_line(module, first).strip()}", end="")
                print(f"\n    {second}: {source_line(module, second).strip()}", end="")
    print(f"\n{dict(Counter(map(why, waits)))}")


def test_the_program_is_complete(module: Any) -> None:
    manifest = json.loads((Path(module.source_path) / "manifest.json").read_text())
    assert {layer["epu"]["mapping"] for layer in manifest["layers"]} == MAPPINGS
    assert (Path(module.source_path) / "weights_epu.bin").stat().st_size > HW["ocm_size"]
    text = (Path(module.source_path) / "net_epu.c").read_text()
    assert "const uint32_t k = unit % " in text  # a sum in parts


def test_untouched_program_has_no_race(report: dict[str, Any]) -> None:
    assert report["reason"] == EXIT, report["message"]
    assert report["races"] == []


def test_each_removed_wait_is_explained(
    report: dict[str, Any], module: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = report["waits"]
    with capsys.disabled():
        print_waits(module, waits)
    for w in waits:
        assert w["reason"] == EXIT
        assert re.search(r"ccl_(wait|swait|drain)\(", source_line(module, w["place"])), w["place"]
        for first, second, _ in w["races"]:
            assert "ccl_" in source_line(module, first)
            assert "ccl_" in source_line(module, second)
        if w["races"]:  # only a wait that ordered something can leave a race behind
            assert w["ordering"] > 0, w["place"]
    kinds = Counter(map(why, waits))
    assert kinds["race"] >= 20
    # Every event that orders memory is missed somewhere.
    missed = " ".join(source_line(module, w["place"]) for w in waits if w["races"])
    for event in ("E_WEIGHTS", "E_LAYER", "E_LOADED", "E_DONE", "E_READY", "E_STORED", "E_STAGED", "E_FREE"):
        assert event in missed, f"no wait for {event} is missed"


def test_a_program_without_waits_has_the_same_values(module: Any) -> None:
    """Function happens in program order: a race changes no value, which is why the detector is needed."""
    x = {"x": np.random.default_rng(1).normal(0, 3, (1, 3, 12, 12)).astype(np.float32)}
    assert module.run(x, "iss:race")["out_0"].tobytes() == Net().graph().run(x)["out_0"].tobytes()


def test_a_wait_that_nothing_meets_stops_with_its_place(tmp_path: Path) -> None:
    module = Net().graph().compile("net", opencgc.HWConfig(**HW), tmp_path)
    source = tmp_path / "net" / "net_epu.c"
    lines = source.read_text().splitlines(keepends=True)
    function = next(i for i, line in enumerate(lines) if re.match(r"static void L\d+_wide\(state", line))
    number = next(i for i in range(function, len(lines)) if "ccl_wait(CCL_ARR, E_LOADED, " in lines[i])
    lines[number] = lines[number].replace("E_LOADED, ", "E_LOADED, 1000u + ")
    source.write_text("".join(lines))
    with pytest.raises(opencgc.Error) as caught:
        module.run({"x": np.zeros((1, 3, 12, 12), np.float32)})
    text = str(caught.value)
    assert "the simulated program waits for ever" in text
    assert "wait for a count that no earlier post reaches" in text
    assert f"(net_epu.c:{number + 1})" in text
    assert "wide" in text
