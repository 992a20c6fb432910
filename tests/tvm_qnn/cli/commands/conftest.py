import importlib
from pathlib import Path

import pytest

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tvm_qnn import digits


@pytest.fixture(autouse=True)
def _builds(builds: None) -> None:
    """Compile each model once."""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the model of handwritten digits, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    return path


HOSTILE = "out[/x] [red]:car:\x1b[2J"
SHOWN = r"out[/x] [red]:car:\x1b[2J"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model with names that are HOSTILE to terminals, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    writer = ModelWriter()
    quantization = Quantization.per_tensor(0.5, 0)
    x = writer.tensor(f"x {HOSTILE}", (1, 4), "int8", quantization)
    y = writer.tensor(HOSTILE, (1, 4), "int8", quantization)
    writer.operator("RELU", [x], [y])
    path = tmp_path / "k[red]{0}$x$.tflite"
    path.write_bytes(writer.finish([x], [y]))
    return path


@pytest.fixture
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be compiled: errors are found before."""

    def compile_module(*_arguments: object) -> None:
        pytest.fail("it was compiled before everything was checked")

    # By its name in tvm_qnn it is the function.
    module = importlib.import_module("tvm_qnn.build")
    monkeypatch.setattr(module, "compile_module", compile_module)
