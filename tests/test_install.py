# SPDX-License-Identifier: Apache-2.0
"""Packaging: one version, extras from setup.cfg, the wheel's contents, and no other TVM beside it."""

from __future__ import annotations

import configparser
import importlib.util
import re
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import opencgc

ROOT = Path(__file__).parent.parent


def cmake_version() -> str:
    return re.search(r"project\(opencgc VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def test_there_is_one_version():
    assert opencgc.__version__ == cmake_version()
    for file in [ROOT / "pyproject.toml", ROOT / "setup.cfg", *(ROOT / "python").rglob("*.py")]:
        assert cmake_version() not in file.read_text(encoding="utf-8"), file


def setup_cfg_extras() -> dict[str, list[str]]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg")
    return {name: text.split("\n")[1:] for name, text in parser["options.extras_require"].items()}


def test_setup_cfg_is_what_the_provider_gives():
    spec = importlib.util.spec_from_file_location("provider", ROOT / "build_support/project_metadata.py")
    provider = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(provider)
    fields = provider.dynamic_metadata({}, {})
    assert fields["version"] == cmake_version()
    assert fields["optional-dependencies"] == setup_cfg_extras()
    assert {"qq-core", "qq"} <= set(fields["optional-dependencies"])


def run_beside_apache_tvm(tmp_path: Path, code: str, *, theirs_first: bool) -> str:
    """Run code where a folder looks as after `pip install apache-tvm`; return what it complains of."""
    site = tmp_path / "site"
    (site / "tvm/runtime").mkdir(parents=True)
    (site / "tvm/__init__.py").write_text("from . import runtime\n")
    (site / "tvm/runtime/__init__.py").write_text("")
    (site / "apache_tvm-0.27.0.dist-info").mkdir()
    (site / "apache_tvm-0.27.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: apache-tvm\nVersion: 0.27.0\n"
    )
    order = f"sys.path.insert(0, {str(site)!r})" if theirs_first else f"sys.path.append({str(site)!r})"
    path = f"sys.path.insert(0, {str(ROOT / 'python')!r}); " if not theirs_first else ""
    command = [sys.executable, "-c", f"import sys; {path}{order}\n{code}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    return result.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import tvm",
        "import tvm.contrib.epu",
        "from tvm.contrib.epu.chipy import export",
        "import tvm.relay.backend.contrib.epu.codegen",
    ],
)
def test_apache_tvm_in_the_environment_is_refused(tmp_path, code):
    text = run_beside_apache_tvm(tmp_path, code, theirs_first=False)
    assert (
        "error[E_NAME] another TVM is in this environment: both it and opencgc own the folder 'tvm'; "
        "found distribution apache-tvm 0.27.0, wanted only opencgc" in text
    )
    assert (
        "cure: pip uninstall apache-tvm, then reinstall opencgc; or use a fresh virtual environment" in text
    )


def test_apache_tvm_installed_last_is_refused_too(tmp_path):
    # Their tvm/__init__.py has replaced ours; our folders below tvm/ are still there.
    code = f"import tvm; tvm.__path__.append({str(ROOT / 'python/tvm')!r}); import tvm.contrib.epu"
    assert "another TVM is in this environment" in run_beside_apache_tvm(tmp_path, code, theirs_first=True)


def test_the_installation_check_names_it(tmp_path):
    code = "import runpy; sys.argv = ['opencgc']; runpy.run_module('opencgc', run_name='__main__')"
    assert "another TVM is in this environment" in run_beside_apache_tvm(tmp_path, code, theirs_first=True)


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment(tmp_path):
    pytest.importorskip("scikit_build_core", reason="the build backend is not installed here")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-Cbuild-dir=" + str(tmp_path / "b")]
    subprocess.run([*build, "-w", str(tmp_path), str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"opencgc-{cmake_version()}-cp310-abi3-")
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "opencgc/_cgc.abi3.so",
        "opencgc/bin/cgc",
        "quadric_pyquant/__init__.py",
        "quadric_pyquant/EXPORT_CONTRACT.md",
        "tvm/__init__.py",
        "tvm/contrib/epu/chipy/aten/view_default.py",
    ):
        assert wanted in names
    folders = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert folders == {"opencgc", "quadric_pyquant", "tvm"}

    # The environment sees this one's packages (numpy, cffi), but not the checkout.
    venv.create(tmp_path / "v", with_pip=False, system_site_packages=False)
    python = tmp_path / "v/bin/python"
    install = [*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    packages = Path(metadata.distribution("numpy").locate_file(""))
    (next((tmp_path / "v").glob("lib/python*/site-packages")) / "more.pth").write_text(f"{packages}\n")
    code = "import opencgc, tvm; print(opencgc.__version__, opencgc.__file__)"
    result = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    version, file = result.stdout.split()
    assert version == cmake_version()
    assert str(tmp_path) in file
    help_text = subprocess.run(
        [tmp_path / "v/bin/cgc", "--help"], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert "compile" in help_text.stdout
