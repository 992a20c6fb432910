from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from benchmarks.bench_one_line import main
from tvm_qnn import digits


def test_all_packages_are_timed(tmp_path: Path) -> None:
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    result = CliRunner().invoke(main, [str(path), "--repeat", "1", "--calls", "2"])
    assert result.exit_code == 0, result.output
    rows = [line.split(" | ") for line in result.output.splitlines() if "digits" in line]
    assert [row[1] for row in rows] == ["tvm_qnn.litert", "ai_edge_litert.interpreter", "tvm_qnn"]
    assert all(float(row[2]) > 0 for row in rows)


def test_a_model_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"no model")
    result = CliRunner().invoke(main, [str(path), "--repeat", "1"])
    assert result.exit_code == 1
    assert "model.tflite" in result.output
