from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tvm_qnn
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tvm_qnn.cli import main
from tvm_qnn.compare import Comparison, TensorComparison, compare


def test_an_exact_model(model: Path) -> None:
    result = CliRunner().invoke(main, ["compare", str(model), "--primitives", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["equal"]
    assert all(tensor["differing"] == 0 for tensor in found["tensors"])


def test_other_shapes_than_the_file_s(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 3), "int8", Quantization.per_tensor(1, 0)) for name in "xy")
    writer.operator("RELU", [x], [y])
    path = tmp_path / "relu.tflite"
    path.write_bytes(writer.finish([x], [y]))
    result = CliRunner().invoke(main, ["compare", str(path), "--shape", "x=5,3", "--json"])
    assert result.exit_code == 0, result.output
    assert [tensor["elements"] for tensor in json.loads(result.stdout)["tensors"]] == [15]


def test_a_difference_is_shown_and_told_by_the_exit_code(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = (
        TensorComparison(3, "first", "CONV_2D", 100, 0, 0.0),
        TensorComparison(4, "second", "ADD", 100, 7, 2.0, {-2: 3, 1: 4}),
    )

    def different(*_arguments: Any, **_options: Any) -> Comparison:
        return Comparison(tensors)

    monkeypatch.setattr(tvm_qnn, "compare", different)
    result = CliRunner().invoke(main, ["compare", str(model), "--histogram", "h.png"])
    assert result.exit_code == 1
    assert "1 of 2 tensors" in result.stdout
    assert "The first that differs: second, of ADD." in result.stdout
    assert Path("h.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "aarch64"], "cannot run here"),
        (["--histogram", "/proc/h.png"], "no file can be made"),
        (["--histogram", "h.docx"], "must end in"),
    ],
)
def test_what_does_not_work_is_told_before_the_work(
    model: Path, options: list[str], message: str
) -> None:
    result = CliRunner().invoke(main, ["compare", str(model), *options])
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize("command", [["compare"], ["demo", "--model"]])
def test_missing_litert_is_told_before_the_work(
    model: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    result = CliRunner().invoke(main, [*command, str(model)])
    assert result.exit_code == 1
    assert "needs the package ai-edge-litert" in result.stderr


@pytest.mark.usefixtures("no_build")
def test_inputs_of_a_wrong_shape_are_told_before_the_work(model: Path) -> None:
    with pytest.raises(QnnError, match="needs int8 of shape"):
        compare(model, [np.zeros((2, 2), np.int8)])
