from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from tvm_qnn import digits
from tvm_qnn.cli import main


def test_the_table_and_the_picture(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(digits.model("int8"))
    output = tmp_path / "out"
    arguments = ["profile", str(model), "--repeat", "2", "--output", str(output)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    # Among the layers, and among the kinds of operators.
    assert result.stdout.count("CONV_2D") >= 2
    assert "ms a run" in result.stdout
    assert (output / "profile_digits.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_model_is_an_error() -> None:
    result = CliRunner().invoke(main, ["profile", "no.tflite"])
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
