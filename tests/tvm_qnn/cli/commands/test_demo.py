from pathlib import Path

import pytest

from tests.support.commands import refused, said
from tvm_qnn import digits
from tvm_qnn.cli import main


def test_an_own_model_is_checked_and_what_is_none_is_one_line(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(digits.model("uint8"))
    text = said(main, ["demo", "--model", str(model)])
    assert "digits.tflite" in text
    assert "times as fast" in text
    (tmp_path / "text.tflite").write_text("this is not a model")
    text = refused(main, ["demo", "--model", str(tmp_path / "text.tflite")])
    assert text.startswith(f"Error: {tmp_path / 'text.tflite'}: not a TFLite file")
    assert text.count("\n") == 1


def test_both_parts_run_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr("tvm_qnn.demo.digits.show_digits", lambda _, folder: shown.append(folder))
    monkeypatch.setattr("tvm_qnn.demo.inception.show_inception", lambda _: shown.append("network"))
    said(main, ["demo", "--output", str(tmp_path)])
    assert shown == [tmp_path, "network"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--image", __file__], "give --model too"),
        (["--model", "missing.tflite"], "does not exist"),
        (["--style", "int8"], "No such option"),
    ],
)
def test_wrong_arguments_are_told_with_the_usage(arguments: list[str], message: str) -> None:
    assert message in " ".join(refused(main, ["demo", *arguments], code=2).split())


@pytest.mark.usefixtures("no_build")
def test_a_picture_that_cannot_be_written_is_told_before_the_work() -> None:
    assert "cannot write /proc/out" in refused(main, ["demo", "--output", "/proc/out"])
