from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from tvm_qnn.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_this_command(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_TVM_QNN_COMPLETE" in result.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=result.stdout, text=True, check=True)


def test_commands_are_completed() -> None:
    # What the script of bash asks for.
    variables = {
        "_TVM_QNN_COMPLETE": "bash_complete",
        "COMP_WORDS": "tvm-qnn pro",
        "COMP_CWORD": "1",
    }
    result = CliRunner().invoke(main, [], prog_name="tvm-qnn", env={**os.environ, **variables})
    assert result.stdout.split() == ["plain,profile"]
