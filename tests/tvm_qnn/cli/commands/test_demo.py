from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tvm_qnn import digits
from tvm_qnn.cli import main


def test_an_own_model_is_checked(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(digits.model("uint8"))
    result = CliRunner().invoke(main, ["demo", "--model", str(model)])
    assert result.exit_code == 0, result.output
    assert "digits.tflite" in result.stdout
    assert "times as fast" in result.stdout


def test_both_parts_run_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr("tvm_qnn.demo.show_digits", lambda _, folder: shown.append(folder))
    monkeypatch.setattr("tvm_qnn.demo.show_inception", lambda _: shown.append("inception"))
    result = CliRunner().invoke(main, ["demo", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert shown == [tmp_path, "inception"]


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.tflite").write_text("this is not a model")
    result = CliRunner().invoke(main, ["demo", "--model", str(tmp_path / "text.tflite")])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {tmp_path / 'text.tflite'}: not a TFLite file")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--image", __file__], "give --model too"),
        (["--model", "missing.tflite"], "does not exist"),
        (["--style", "int8"], "No such option"),
    ],
)
def test_wrong_arguments_are_told_with_the_usage(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["demo", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.usefixtures("no_build")
def test_a_picture_that_cannot_be_written_is_told_before_the_work() -> None:
    result = CliRunner().invoke(main, ["demo", "--output", "/proc/out"])
    assert result.exit_code == 1
    assert "cannot write /proc/out" in result.stderr
