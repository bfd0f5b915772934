# SPDX-License-Identifier: Apache-2.0
"""Compiles that are killed or run at once: a module's folder holds the old tree or the new one, whole."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

opencgc = pytest.importorskip("opencgc")

KILLS = 25
COMPILE = "import opencgc, sys; opencgc.load(sys.argv[1]).compile('m', build_path=sys.argv[2])"


def graph(channels: int) -> opencgc.Graph:
    builder = opencgc.GraphBuilder()
    weight = builder.constant(np.ones((channels, 2, 3, 3), np.int8))
    q = builder.node("qnn.quantize", [builder.input("x", (1, 2, 8, 8))], '0.05f, 0, out_dtype="int8"')
    attrs = f"padding=[1, 1, 1, 1], channels={channels}, kernel_size=[3, 3], bias_fusion=False, "
    attrs += "x_zero_point=0, x_scale=0.05f, w_zero_point=0, w_scale=0.01f, y_zero_point=0, y_scale=0.1f"
    y = builder.node("contrib.epu.qlinear_conv2d", [q, weight], attrs + ', out_dtype="int8"')
    return builder.finish([builder.node("qnn.dequantize", [y], "0.1f, 0")])


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_killed_at_any_moment(tmp_path: Path) -> None:
    paths = []
    for channels in (3, 40):
        paths.append(tmp_path / f"{channels}.cgc")
        graph(channels).save(paths[-1])
    whole = []
    for path in paths:
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", COMPILE, path, tmp_path / path.stem], check=True)
        took = time.monotonic() - began
        whole.append(tree(tmp_path / path.stem / "m"))
    build = tmp_path / "build"
    opencgc.load(paths[0]).compile("m", build_path=build)
    moments = random.Random(0)
    for _ in range(KILLS):
        run = subprocess.Popen([sys.executable, "-c", COMPILE, moments.choice(paths), build])
        time.sleep(moments.uniform(0.3, 1.1) * took)
        run.kill()
        run.wait()
        assert tree(build / "m") in whole
    opencgc.load(paths[1]).compile("m", build_path=build)
    assert tree(build / "m") == whole[1]
    assert [path.name for path in build.iterdir()] == ["m"]  # what the killed ones left is gone


def test_threads_that_compile_one_module(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def compile_often(channels: int) -> None:
        try:
            mine = graph(channels)
            for _ in range(10):
                mine.compile("m", build_path=tmp_path / "both")
        except BaseException as error:  # noqa: BLE001 - whatever a thread raises is shown
            errors.append(error)

    threads = [threading.Thread(target=compile_often, args=(channels,)) for channels in (3, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    alone = []
    for channels in (3, 40):
        graph(channels).compile("m", build_path=tmp_path / str(channels))
        alone.append(tree(tmp_path / str(channels) / "m"))
    assert tree(tmp_path / "both" / "m") in alone
    assert [path.name for path in (tmp_path / "both").iterdir()] == ["m"]


@pytest.mark.parametrize("engine", ["iss", "host"])
@pytest.mark.parametrize("change", [-1, 64])
def test_weights_of_another_size(engine: str, change: int, tmp_path: Path) -> None:
    module = graph(3).compile("m", build_path=tmp_path)
    path = tmp_path / "m" / f"weights_{'epu' if engine == 'iss' else 'host'}.bin"
    data = path.read_bytes()
    path.write_bytes((data + bytes(64))[: len(data) + change])
    with pytest.raises(
        opencgc.Error, match=rf"has {len(data) + change} bytes; the program wants {len(data)}\n"
    ):
        module.run({"x": np.zeros((1, 2, 8, 8), np.float32)}, engine)
