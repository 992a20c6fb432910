from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tvm_qnn import digits, load
from tvm_qnn.cli import main
from tvm_qnn.oracle import litert_tensors


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    return path


def test_the_library_runs_and_gives_litert_s_answer(model: Path) -> None:
    result = CliRunner().invoke(main, ["compile", str(model)])
    assert result.exit_code == 0, result.output
    digit = digits.to_input(digits.held_out()[0][:1], "int8")
    expected = litert_tensors(model.read_bytes(), [digit])
    np.testing.assert_array_equal(load("digits.so").run(digit), expected[max(expected)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "llvm -mcpu=abacus"], "abacus"),
        (["--output", "digits.dll"], "must end in .so"),
        (["--output", "nowhere/digits.so"], "there is no folder nowhere"),
        (["--cc", "no-such-linker"], "no linker 'no-such-linker' on the path"),
    ],
)
def test_what_does_not_work_is_one_line(model: Path, arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["compile", str(model), *arguments])
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not list(model.parent.glob("*.so"))
