import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from qnn_ops.errors import QnnError
from tests.support.commands import refused
from tests.support.processes import ROOT, printed
from tvm_qnn.cli import main


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that fail."""

    @click.command()
    def fail() -> None:
        raise QnnError("tensor 'x' needs int8, got int16")

    @click.command()
    def crash() -> None:
        raise ValueError("a mistake in the program")

    @click.command()
    def write() -> None:
        Path("/dev/null/out").mkdir(parents=True)

    @click.command()
    def wait() -> None:
        signal.raise_signal(signal.SIGINT)

    commands = {**main.commands, "fail": fail, "crash": crash, "write": write, "wait": wait}
    monkeypatch.setattr(main, "commands", commands)


@pytest.mark.usefixtures("fails")
class TestErrors:
    def test_what_is_wrong_with_the_input_is_one_line(self) -> None:
        result = CliRunner().invoke(main, ["fail"])
        assert result.exit_code == 1
        assert result.stdout == ""
        assert result.stderr == "Error: tensor 'x' needs int8, got int16\n"

    def test_what_is_wrong_with_a_file_is_one_line(self) -> None:
        assert refused(main, ["write"]) == "Error: /dev/null/out: Not a directory\n"

    @pytest.mark.parametrize(
        ("line", "message", "command"),
        [
            (["fail", "--nonsense"], "No such option", " fail"),
            (["inspect", "none.tflite"], "'none.tflite' does not exist", " inspect"),
            (["frobnicate"], "No such command 'frobnicate'", ""),
            (["--nonsense"], "No such option", ""),
        ],
    )
    def test_wrong_usage_is_one_line(self, line: list[str], message: str, command: str) -> None:
        (text,) = refused(main, line, prog_name="tvm-qnn", code=2).splitlines()
        assert message in text
        assert text.endswith(f"Help: tvm-qnn{command} --help")

    def test_ctrl_c_is_told_by_the_exit_code(self) -> None:
        assert refused(main, ["wait"], code=130) == "Aborted!\n"

    def test_no_command_shows_them_all(self) -> None:
        assert "Commands:" in CliRunner().invoke(main, []).output

    def test_debug_shows_where_it_arose(self) -> None:
        result = CliRunner().invoke(main, ["--debug", "fail"])
        assert isinstance(result.exception, QnnError)

    def test_a_mistake_in_the_program_is_not_hidden(self) -> None:
        result = CliRunner().invoke(main, ["crash"])
        assert type(result.exception) is ValueError

    def test_a_mistake_in_a_file_of_rules_is_one_line(self, tmp_path: Path) -> None:
        rules = tmp_path / "rules.py"
        rules.write_text("import nothing_of_this_name\n")
        text = refused(main, ["--rules", str(rules), "targets"])
        assert text == (
            f"Error: {rules}: ModuleNotFoundError: No module named 'nothing_of_this_name'\n"
        )

    def test_a_warning_is_one_line(self) -> None:
        code = (
            "import sys, warnings, click\n"
            "from tvm_qnn.cli import main\n"
            "main.add_command(click.Command('warn', callback=lambda: warnings.warn('slow LSTM')))\n"
            "main(['warn'])\n"
        )
        line = [sys.executable, "-c", code]
        result = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
        assert result.stderr == "Warning: slow LSTM\n"


def test_help_lists_the_commands_and_imports_no_tvm() -> None:
    code = (
        "import sys\n"
        "from tvm_qnn.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    print(sorted({name.split('.')[0] for name in sys.modules} & {'tvm', 'numpy'}))\n"
    )
    text = printed(code)
    assert "demo  " in text
    assert text.endswith("[]\n")


def test_it_is_also_a_module() -> None:
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tvm_qnn", "demo", "--help"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("Usage: python -m tvm_qnn demo ")
    # What makes help slow where it is imported.
    assert "tvm_qnn.cli.commands.demo" in result.stderr
    assert "tvm_ffi" not in result.stderr
