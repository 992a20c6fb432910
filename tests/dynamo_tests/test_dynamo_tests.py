"""The command that runs PyTorch's own tests of backends: what it changes and counts."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.dynamo_tests import __main__ as command
from tests.support.peer_tests import with_changes

SCRIPT = """
import unittest


class TestOptimizationsCPU(unittest.TestCase):
    def test_eager(self):
        self._check_backend_works("eager", "cpu")

    def _check_backend_works(self, backend, device):
        self.assertEqual(backend, "tvm_qnn")

    def test_tvm_cpu(self):
        raise ValueError("as the backend does")

    def test_wrong(self):
        self.assertIn("inductor", [])
"""


def checkout(folder: Path) -> str:
    (folder / command.FILE).parent.mkdir(parents=True)
    (folder / command.FILE).write_text(SCRIPT)
    return str(folder)


def test_tests_are_run_and_counted(tmp_path: Path) -> None:
    result = CliRunner().invoke(command.main, [checkout(tmp_path), "--show"])
    assert result.output.splitlines()[-1] == "| test_backends.py | 1 | 1 | 0 | 1 |"
    assert "'tvm_qnn' not found in []" in result.output
    assert result.exit_code == 1


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    result = CliRunner().invoke(command.main, [str(tmp_path)])
    assert "has no test/dynamo/test_backends.py" in result.output


@pytest.mark.parametrize(
    "line",
    [
        'torch.compile(model, backend="inductor")(x)',
        'torch.compile(fn, backend="aot_eager")',
        'found = lookup_backend("inductor")(graph, inputs)',
        'eb = ExplainWithBackend("inductor")',
        'self.assertIn("inductor", torch._dynamo.list_backends())',
    ],
)
def test_names_of_backends(line: str) -> None:
    changed = with_changes(line, command.CHANGES)
    assert changed == line.replace("inductor", "tvm_qnn").replace("aot_eager", "tvm_qnn")
    assert "tvm_qnn" in changed
