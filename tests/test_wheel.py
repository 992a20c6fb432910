"""The wheel: its contents, and that it works without a checkout."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest

import tvm_qnn

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("qnn_ops", "legalize", "frontends", "tvm_qnn")
LEFT_OUT = (".*", "out", "build", "dist", "*.egg-info", "__pycache__", "fixtures", "_build")

CLASSIFY = """
import numpy as np
import frontends, legalize, qnn_ops, tvm_qnn
from tvm_qnn import digits
for package in (frontends, legalize, qnn_ops, tvm_qnn):
    print(package.__file__)
pictures, labels = digits.held_out()
mod, params = tvm_qnn.from_tflite(digits.model("int8"))
library = tvm_qnn.build(mod, "host", params)
inputs = digits.to_input(pictures[:20], "int8")
found = [int(library.run(picture[None]).argmax()) for picture in inputs]
print(np.mean(found == labels[:20]))
"""


def why_not() -> str | None:
    """Say why no wheel can be built here without a network."""
    if importlib.util.find_spec("pip") is None:
        return "pip is not installed"
    try:
        version = metadata.version("setuptools")
    except metadata.PackageNotFoundError:
        return "setuptools is not installed"
    found = re.search(r"setuptools>=(\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert found is not None
    if int(version.split(".")[0]) < int(found[1]):
        return f"setuptools is {version}, older than {found[1]}"
    return None


pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no wheel is built: {why_not()}")


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel of this checkout, built from a copy: building writes into the folder."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LEFT_OUT))
    options = ("--no-deps", "--no-index", "--no-build-isolation")
    pip("wheel", str(source), *options, "--wheel-dir", str(folder))
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an installed wheel."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", str(wheel), "--no-deps", "--no-index", "--no-compile", "--target", str(folder))
    return folder


def output_of(installed: Path, command: Sequence[str], folder: Path) -> str:
    """Return the output of a program that sees the installed wheel alone."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_has_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for package in SHIPPED for path in (ROOT / package).rglob("*"))
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {f"{package}/py.typed" for package in SHIPPED} <= expected
    assert names == expected


def test_it_states_its_version_licence_and_python(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        header = archive.read(name).decode().partition("\n\n")[0]
        licences = [name for name in archive.namelist() if name.endswith("/LICENSE")]
    assert len(licences) == 1
    stated = dict(line.split(": ", 1) for line in header.splitlines())
    assert stated["Version"] == tvm_qnn.__version__
    assert stated["License-Expression"] == "Apache-2.0"
    assert set(stated["Requires-Python"].split(",")) == {">=3.10", "<3.15"}


def test_the_command_runs_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    command = str(installed / "bin" / "tvm-qnn")
    said = {output_of(installed, [command, "--version"], tmp_path)}
    said.add(output_of(installed, [sys.executable, "-m", "tvm_qnn", "--version"], tmp_path))
    assert all(re.search(r"\b0\.1\.0\b", text) for text in said)


def test_digits_are_classified_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    lines = output_of(installed, [sys.executable, "-c", CLASSIFY], tmp_path).splitlines()
    for package in lines[:-1]:
        assert Path(package).is_relative_to(installed)
    assert float(lines[-1]) >= 0.9
