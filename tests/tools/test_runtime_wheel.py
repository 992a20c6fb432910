"""The wheel for devices: its contents, and that it runs libraries without anything else."""

import importlib.util
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import tvm_qnn
from tests.support.arm import CORTEX_A72, Core, on_cores
from tests.support.arm_models import RUNTIME, emulated_python, needs_python
from tests.support.errors import fails
from tests.support.linking import needs_linker
from tests.test_wheel import why_not
from tools.runtime_wheel import PROGRAM, TVM, build_wheel, in_wheel, main, modules
from tvm_qnn import digits

BESIDE = ("apache-tvm-ffi", "click", "numpy", "typing_extensions")
MOST = 25_000_000  # bytes, beside numpy

pytestmark = [
    needs_linker,
    pytest.mark.skipif(why_not() is not None, reason=f"no wheel is built: {why_not()}"),
    pytest.mark.skipif(sys.platform != "linux", reason="devices have Linux"),
]

RUN = """
import sys
import numpy, tvm_qnn
print(tvm_qnn.__version__, "tvm" in sys.modules)
library = tvm_qnn.load(sys.argv[1])
numpy.save(sys.argv[3], library(numpy.load(sys.argv[2])))
print(repr(library).splitlines()[1].split()[:2])
try:
    tvm_qnn.build
except ImportError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    return build_wheel(folder / "dist", metadata.distribution(TVM))


@pytest.fixture(scope="module")
def device(wheel: Path, folder: Path) -> Path:
    """Return the folder of an environment with only the wheel and its requirements."""
    home = folder / "venv"
    venv.create(home, with_pip=False)
    python = str(home / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*command, "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    link(packages, (file for name in BESIDE for file in top_level(metadata.distribution(name))))
    return home


def top_level(distribution: metadata.Distribution) -> set[Path]:
    """Return the files and folders of an installed distribution."""
    parts = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    return {Path(str(distribution.locate_file(part))) for part in parts}


def link(folder: Path, files: Iterable[Path]) -> None:
    for file in files:
        (folder / file.name).symlink_to(file)


def output_of(command: Sequence[object]) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)),
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(target: str, path: Path) -> tuple[tvm_qnn.Library, Path]:
    """Return the digits' network and its input."""
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    library = tvm_qnn.build(mod, target, params)
    library.export(path)
    np.save(path.with_suffix(".npy"), digits.to_input(digits.held_out()[0][:1], "int8"))
    return library, path


def test_a_library_gives_the_same_there(device: Path, tmp_path: Path) -> None:
    library, path = compiled("host", tmp_path / "digits.so")
    x, y = tmp_path / "digits.npy", tmp_path / "y.npy"
    lines = output_of([device / "bin/python", "-c", RUN, path, x, y]).splitlines()
    assert lines[0] == f"{tvm_qnn.__version__} False"
    assert lines[1] == f"['input', {library.inputs[0].name!r}]"
    assert lines[2] == "tvm_qnn.build is not in tvm-qnn-runtime: pip install tvm-qnn"
    np.testing.assert_array_equal(np.load(y), library.run(np.load(x)))


def test_its_command_tells_and_runs(device: Path, tmp_path: Path) -> None:
    library, path = compiled("host", tmp_path / "digits.so")
    command = device / "bin" / "tvm-qnn-runtime"
    assert "(taken here)" in output_of([command, "info", path])
    answer = tmp_path / "y.npz"
    x = tmp_path / "digits.npy"
    said = output_of([command, "run", path, "-i", x, "-o", answer])
    expected = library.run(np.load(x))
    assert said.splitlines()[0] == library.outputs[0].describe()
    assert said.splitlines()[1] == f"  {expected.max()} at 0, {expected.argmax()}"
    with np.load(answer) as found:
        np.testing.assert_array_equal(found[library.outputs[0].name], expected)
    assert output_of([command, "--version"]) == f"tvm-qnn-runtime {tvm_qnn.__version__}\n"


def test_it_is_small(device: Path) -> None:
    (packages,) = device.glob("lib/python*/site-packages")
    files = [
        file
        for entry in packages.iterdir()
        if not re.match("numpy", entry.name)
        for file in ([entry] if entry.is_file() else entry.rglob("*"))
        if file.is_file()
    ]
    assert sum(file.stat().st_size for file in files) < MOST
    assert not any("compiler" in file.name for file in files if file.suffix == ".so")


def test_it_has_what_it_imports_and_the_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = {path.name for path in modules(PROGRAM)}
    assert expected <= {name.rpartition("/")[2] for name in names}
    assert {"tvm_qnn/lib/libtvm_runtime.so", "tvm_qnn/library/library.py"} <= names
    licences = {name.partition(".dist-info/licenses/")[2] for name in names}
    assert {"LICENSE", "apache-tvm/LICENSE", "apache-tvm/NOTICE"} <= licences
    assert not any(name.startswith(("legalize/", "frontends/")) for name in names)
    assert importlib.util.find_spec("tvm_qnn.build") is not None
    assert "tvm_qnn/build.py" not in names


def test_what_is_no_tvm_of_ours_is_an_error(wheel: Path, tmp_path: Path) -> None:
    other = in_wheel(wheel)
    assert other.metadata["Name"] == "tvm-qnn-runtime"
    fails(r"is not for apache-tvm 0\.1\.0; it requires apache", build_wheel, tmp_path, other)
    fails("is no wheel", in_wheel, Path(__file__))


@pytest.mark.arm
@needs_python
@on_cores(CORTEX_A72)
def test_an_emulated_device_gives_the_same(core: Core, tmp_path: Path) -> None:
    (tvm,) = metadata.distributions(name=TVM, path=[str(RUNTIME / "site")])
    wheel = build_wheel(tmp_path / "dist", tvm)
    assert wheel.name.endswith("aarch64.whl")
    packages = tmp_path / "packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    link(packages, (RUNTIME / "site").glob("numpy*"))
    link(packages, (RUNTIME / "site").glob("*tvm_ffi*"))
    link(packages, (RUNTIME / "site").glob("typing_extensions*"))
    _, path = compiled("aarch64", tmp_path / "digits.so")
    python = emulated_python(core, tmp_path)
    python.write_text(python.read_text().replace(f"{RUNTIME}/site", str(packages)))
    x, y = tmp_path / "digits.npy", tmp_path / "y.npy"
    lines = output_of([python, "-c", RUN, path, x, y]).splitlines()
    assert lines[0] == f"{tvm_qnn.__version__} False"
    here, _ = compiled("host", tmp_path / "here.so")
    np.testing.assert_array_equal(np.load(y), here.run(np.load(x)))


def test_an_old_setuptools_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.runtime_wheel.version", lambda _package: "65.5.0")
    monkeypatch.setattr(sys, "argv", ["runtime_wheel", "--output", str(tmp_path / "dist")])
    with pytest.raises(SystemExit, match="1"):
        main()
    said = "the wheel needs setuptools 77, here is 65.5.0: pip install -U setuptools\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "dist").exists()
