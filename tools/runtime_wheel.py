"""Build the wheel `tvm-qnn-runtime`: what runs libraries, without TVM's compiler.

    python -m tools.runtime_wheel --output dist
    python -m tools.runtime_wheel --output dist --tvm apache_tvm-0.27.0.post1-…_aarch64.whl

It has the modules that `tvm_qnn.cli.device` imports, and of apache-tvm the runtime's library, as it
is installed here or stands in a wheel of another platform (`pip download --no-deps --platform …`).
That is under the Apache License 2.0, and finds the one library that it needs, apache-tvm-ffi's, in
the process that has loaded it: no byte of it is changed.
"""

import argparse
import ast
import json
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    PathDistribution,
    distribution,
    version,
)
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "tvm_qnn.cli.device"
RECIPE = Path("tools", "runtime")
TVM = "apache-tvm"

_NEEDED = ("apache-tvm-ffi", "numpy", "click")  # of what tvm-qnn requires
_LIBRARY = "lib/libtvm_runtime.so"
_LICENCES = (
    *("LICENSE", "NOTICE"),
    "licenses/LICENSE.builtin_fp16.txt",  # of what is compiled into the library
)


def build_wheel(output: Path, tvm: Distribution) -> Path:
    """Build the wheel for the platform of a distribution of apache-tvm.

    Args:
        output: the folder where it is written.
        tvm: apache-tvm, installed or in a wheel.

    Returns:
        The wheel's path.

    Raises:
        QnnError: if the distribution is another release than tvm-qnn requires, or lacks a file, or
            setuptools is older than the wheel needs.
    """
    _check_setuptools()
    packaging = runpy.run_path(str(ROOT / "setup.py"))
    required: list[str] = packaging["INSTALL"]
    if f"{TVM}=={tvm.version}" not in required:
        raise QnnError(f"tvm-qnn is not for {TVM} {tvm.version}; it requires {required[0]}")
    fields = {
        "name": "tvm-qnn-runtime",
        "description": "Runs models that tvm-qnn compiled, without TVM's compiler",
        **packaging["ABOUT"],
        "install_requires": [each for each in required if each.startswith(_NEEDED)],
        "platform": _platform(tvm),
    }
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        for module in modules(PROGRAM):
            place = stage / module.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(module, place)
        for package in ("tvm_qnn", "qnn_ops"):
            shutil.copy(ROOT / package / "py.typed", stage / package)
        _take_runtime(tvm, stage)
        for name in ("setup.py", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / RECIPE / name, stage)
        shutil.copy(ROOT / "LICENSE", stage)
        (stage / "setup.json").write_text(json.dumps(fields), encoding="utf-8")
        wheels = stage / "dist"
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
        options = ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(wheels)]
        done = subprocess.run(
            [*command, *options, str(stage)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise QnnError(f"the wheel cannot be built: {done.stderr.strip()}")
        (wheel,) = wheels.iterdir()
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, output))


def _check_setuptools() -> None:
    """Raise if the installed setuptools cannot build the wheel: pip fetches none for it."""
    needed = re.search(r"setuptools>=(\d+)", (ROOT / RECIPE / "pyproject.toml").read_text("utf-8"))
    try:
        found = version("setuptools")
    except PackageNotFoundError:
        found = ""
    if needed and int(found.partition(".")[0] or 0) < int(needed[1]):
        state = f"here is {found}" if found else "none is installed"
        raise QnnError(
            f"the wheel needs setuptools {needed[1]}, {state}: pip install -U setuptools"
        )


def modules(program: str) -> set[Path]:
    """Return the files of all modules of this project that one imports at its top, and they."""
    found: set[Path] = set()
    waiting = [program]
    while waiting:
        name = waiting.pop()
        path = ROOT.joinpath(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file in found or not file.is_file():
            continue
        found.add(file)
        waiting += [name.rpartition(".")[0], *_imports(ast.parse(file.read_bytes()).body)]
    return found


def _imports(body: list[ast.stmt]) -> Iterator[str]:
    """Yield what statements import when a module is imported; names in modules count as modules."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            yield statement.module
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
        elif isinstance(statement, ast.Try):
            yield from _imports(statement.body)
        elif isinstance(statement, ast.If) and ast.unparse(statement.test) != "TYPE_CHECKING":
            yield from _imports([*statement.body, *statement.orelse])


def _take_runtime(tvm: Distribution, stage: Path) -> None:
    """Take the library and its version, and beside the packages its licences."""
    library, licences = stage / "tvm_qnn" / "lib", stage / TVM
    for folder, names in ((library, [_LIBRARY]), (licences, _LICENCES)):
        folder.mkdir()
        for name in names:
            file: Any = tvm.locate_file(f"tvm/{name}")
            if not file.is_file():
                raise QnnError(f"{TVM} {tvm.version} has no {name}")
            (folder / Path(name).name).write_bytes(file.read_bytes())
    (library / f"{TVM}.version").write_text(f"{tvm.version}\n", encoding="ascii")


def _platform(tvm: Distribution) -> str:
    """Return the platform of a wheel's tags, such as manylinux_2_28_aarch64."""
    lines = (tvm.read_text("WHEEL") or "").splitlines()
    tags = [line.partition(": ")[2] for line in lines if line.startswith("Tag: ")]
    platforms = {tag.split("-")[-1] for tag in tags}
    if not platforms or not all("linux" in platform for platform in platforms):
        raise QnnError(f"{TVM} is here for {', '.join(platforms) or 'no platform'}, not for Linux")
    return ".".join(sorted(platforms))


def in_wheel(path: Path) -> Distribution:
    """Return the distribution that a wheel holds.

    Raises:
        QnnError: if it is no wheel.
    """
    try:
        archive = zipfile.ZipFile(path)
        (folder,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise QnnError(f"{path} is no wheel: {error}") from error
    return PathDistribution(zipfile.Path(archive, f"{folder}/"))


def main() -> None:
    """Build the wheel and print its path."""
    parser = argparse.ArgumentParser(prog="python -m tools.runtime_wheel", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--output", type=Path, default=Path("dist"), help="the folder to write to")
    parser.add_argument("--tvm", type=Path, help="a wheel of apache-tvm for another platform")
    arguments = parser.parse_args()
    try:
        tvm = in_wheel(arguments.tvm) if arguments.tvm else distribution(TVM)
        print(build_wheel(arguments.output, tvm))
    except QnnError as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
