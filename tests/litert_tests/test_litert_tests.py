"""The command that runs LiteRT's own tests: what it changes, writes and counts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert
from click.testing import CliRunner

from tests.litert_tests import __main__ as command
from tests.litert_tests.imports import changed
from tests.litert_tests.models import permutation, two_signatures, write_models
from tvm_qnn.litert import interpreter as ours

SCRIPT = """
import tensorflow as tf
from tflite.python import interpreter as interpreter_wrapper
from tflite.python import lite
from tflite.python.testdata import _pywrap_test_registerer as test_registerer
from tensorflow.python.framework import test_util
from tensorflow.python.platform import resource_loader
from tensorflow.python.platform import test


class InterpreterTest(test_util.TensorFlowTestCase):
  def testFile(self):
    path = resource_loader.get_path_to_datafile("testdata/permute_float.tflite")
    self.assertLen(interpreter_wrapper.Interpreter(path).get_input_details(), 1)

  def testString(self):
    raise RuntimeError("as the façade does")

  def testOfTensorFlow(self):
    tf.zeros([1])

  def testWrong(self):
    self.assertAllEqual([1, 2], [1, 3])
"""


def checkout(folder: Path, script: str = SCRIPT) -> str:
    (folder / command.FILE).parent.mkdir(parents=True)
    (folder / command.FILE).write_text(script)
    return str(folder)


def test_tests_are_run_and_counted(tmp_path: Path) -> None:
    result = CliRunner().invoke(command.main, [checkout(tmp_path), "--show"])
    assert result.output.splitlines()[-1] == "| interpreter_test.py | 1 | 1 | 1 | 1 |"
    assert "InterpreterTest::testWrong: failed: " in result.output
    assert "InterpreterTest::testString: differs by design: tensors of text" in result.output
    assert result.exit_code == 1


def test_litert_itself_differs_in_nothing(tmp_path: Path) -> None:
    path = checkout(tmp_path, SCRIPT[: SCRIPT.index("  def testOfTensorFlow")])
    result = CliRunner().invoke(command.main, [path, "--on-litert"])
    assert result.output.splitlines()[-1] == "| interpreter_test.py | 1 | 0 | 0 | 1 |"


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    result = CliRunner().invoke(command.main, [str(tmp_path)])
    assert "has no tflite/python/interpreter_test.py" in result.output
    result = CliRunner().invoke(command.main, [checkout(tmp_path, "import nothing_of_this_name")])
    assert "interpreter_test.py: cannot be run" in result.output


def test_import_lines() -> None:
    lines = changed(SCRIPT, "tvm_qnn.litert").splitlines()[1:8]
    assert lines[1] == "from tvm_qnn.litert import interpreter as interpreter_wrapper"
    names = ("tf", "lite", "test_registerer", "test_util", "resource_loader", "test")
    others = [f"from tests.litert_tests.stand_ins import {name}" for name in names]
    assert [*lines[:1], *lines[2:]] == others


@pytest.mark.parametrize("module", [litert, ours], ids=["litert", "tvm_qnn"])
def test_models(module: Any, tmp_path: Path) -> None:
    for dtype in ("float32", "uint8"):
        interpreter = module.Interpreter(model_content=permutation(dtype))
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, np.array([[1, 2, 3, 4]], dtype))
        interpreter.invoke()
        assert interpreter.get_tensor(2).tolist() == [[4, 3, 2, 1]]
    interpreter = module.Interpreter(model_content=two_signatures())
    one = np.full(1, 3, np.float32)
    found = [
        interpreter.get_signature_runner(key)(x=one, y=one)["output_0"][0]
        for key in ("add", "multiply")
    ]
    assert found == [6, 9]
    (tmp_path / "tflite/testdata").mkdir(parents=True)
    (tmp_path / "tflite/testdata/sparse_tensor.bin").write_bytes(b"stored")
    write_models(tmp_path, tmp_path / "made")
    assert (tmp_path / "made/testdata/sparse_tensor.bin").read_bytes() == b"stored"
    assert len(list((tmp_path / "made/python/testdata").iterdir())) == 5
