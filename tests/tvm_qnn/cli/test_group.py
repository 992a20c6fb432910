from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.commands import refused
from tvm_qnn import digits
from tvm_qnn.cli import main


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["compile", "digits.tflite", "--input-shapes", "x:[1,3]"],
            "Error: No such option '--input-shapes'. Where tvmc has --input-shapes: write --shape "
            "NAME=1,3,224,224 for each input. Help: tvm-qnn compile --help\n",
        ),
        (["run", "m.so", "--inputs", "i.npz"], "write --input FILE.npz"),
        (["run", "m.so", "--print-time"], "tvm-qnn bench MODEL"),
        (["tune", "m.tflite"], "Where tvmc has tune: kernels need no tuning, so compile"),
        (["micro"], "write C files with tvm-qnn compile"),
    ],
)
def test_words_of_tvmc_say_what_to_write(
    arguments: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("digits.tflite").write_bytes(digits.model("int8"))
    Path("m.so").touch()
    text = refused(main, arguments, prog_name="tvm-qnn", code=2)
    assert expected in text
    assert text.count("\n") == 1


def test_other_words_stay_as_they_are() -> None:
    result = CliRunner().invoke(main, ["run", "m.so", "--nonsense"], prog_name="tvm-qnn")
    assert "tvmc" not in result.stderr
