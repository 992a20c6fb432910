from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.bench_one_line import main
from tvm_qnn import digits


def test_all_packages_are_timed(tmp_path: Path) -> None:
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    result = CliRunner().invoke(main, [str(path), "--repeat", "1", "--calls", "2"])
    assert result.exit_code == 0, result.output
    rows = [line.split(" | ") for line in result.output.splitlines() if "digits" in line]
    assert [row[1] for row in rows] == [
        "tvm_qnn.litert",
        "ai_edge_litert.interpreter",
        "Library.run",
    ]
    assert all(float(row[2]) > 0 for row in rows)


def test_a_model_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"no model")
    result = CliRunner().invoke(main, [str(path), "--repeat", "1"])
    assert result.exit_code == 1
    assert "model.tflite" in result.output


@pytest.mark.torch
def test_programs_of_pytorch_are_timed(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    path = tmp_path / "layer.pt2"
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(4),)), path)
    result = CliRunner().invoke(main, [str(path), "--repeat", "1", "--calls", "2"])
    assert result.exit_code == 0, result.output
    rows = [line.split(" | ") for line in result.output.splitlines() if "layer" in line]
    assert [row[1] for row in rows] == ["tvm_qnn", "eager", "Library.run"]
