import os
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from tests.support.commands import said
from tvm_qnn.cli import main
from tvm_qnn.target.target import NAMES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_this_command(shell: str) -> None:
    text = said(main, ["completion", shell])
    assert "_TVM_QNN_COMPLETE" in text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def completions(words: str, place: int) -> list[str]:
    """Return bash's completions of the last word."""
    variables = {
        "_TVM_QNN_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(place),
    }
    result = CliRunner().invoke(main, [], prog_name="tvm-qnn", env={**os.environ, **variables})
    return result.stdout.split()


def test_commands_are_completed() -> None:
    assert completions("tvm-qnn pro", 1) == ["plain,profile"]


@pytest.mark.parametrize("command", ["compile", "profile"])
def test_names_of_targets_are_completed(command: str) -> None:
    assert completions(f"tvm-qnn {command} --target ho", 3) == ["plain,host"]
    found = completions(f"tvm-qnn {command} --target aarch64", 3)
    assert found == [f"plain,{name}" for name in NAMES if name.startswith("aarch64")]
