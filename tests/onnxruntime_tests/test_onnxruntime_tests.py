"""The command that runs ONNX Runtime's own tests: what it changes, writes and counts."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from tests.onnxruntime_tests import __main__ as command
from tests.onnxruntime_tests.differences import DIFFERENCES, SAY_NOTHING
from tests.onnxruntime_tests.imports import changed
from tests.onnxruntime_tests.models import MADE, write_models
from tests.support.onnx_sessions import real
from tvm_qnn import onnxruntime as own

SCRIPT = """
import unittest
import numpy as np
from helper import get_name
import onnxruntime as onnxrt
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi._pybind_state import OrtDevice as C_OrtDevice
from onnxruntime.capi._pybind_state import OrtValueVector, SessionIOBinding
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RunOptions


class TestInferenceSession(unittest.TestCase):
    def test_run_model(self):
        session = onnxrt.InferenceSession(get_name("mul_1.onnx"))
        x = np.ones((3, 2), np.float32)
        self.assertEqual(session.run(None, {"X": x})[0].tolist(), [[1, 2], [3, 4], [5, 6]])
        value = onnxrt.OrtValue.ortvalue_from_numpy(x)._get_c_value()
        found = session._sess.run_with_ort_values({"X": value}, ["Y"], RunOptions())
        self.assertIsInstance(found, OrtValueVector)
        device = C_OrtDevice(C_OrtDevice.cpu(), C_OrtDevice.default_memory(), 0)
        bind = SessionIOBinding(session._sess)
        bind.bind_ortvalue_input("X", C.OrtValue.ortvalue_from_numpy(x, device))
        bind.bind_output("Y", device)
        session._sess.run_with_iobinding(bind, None)
        self.assertIsInstance(bind.get_outputs(), OrtValueVector)
        np.testing.assert_array_equal(bind.get_outputs()[0].numpy(), found[0].numpy())

    def test_multiple_devices(self):
        pass

    def test_of_a_file(self):
        get_name("nothing_of_this_name.onnx")

    # Only in one of the two packages:
    def test_sparse_tensor_coo_format(self):
        onnxrt.SparseTensor

    def test_wrong(self):
        raise Fail("as no test should")
"""


def checkout(folder: Path, script: str = SCRIPT) -> str:
    (folder / command.FOLDER).mkdir(parents=True)
    for name, source in zip(command.FILES, (script, script), strict=True):
        (folder / command.FOLDER / name).write_text(source)
    return str(folder)


def test_tests_are_run_and_counted(tmp_path: Path) -> None:
    result = CliRunner().invoke(command.main, [checkout(tmp_path), "--show"])
    lines = result.output.splitlines()
    assert lines[-1] == "| onnxruntime_test_python_iobinding.py | 1 | 1 | 2 | 1 |"
    assert "| onnxruntime_test_python.py | 1 | 1 | 2 | 1 |" in lines
    for text in (
        *("multiple_devices: skipped: needs a GPU", "of_a_file: skipped: needs nothing_of"),
        *("coo_format: differs by design: sparse", "wrong: failed: "),
    ):
        assert f"  TestInferenceSession::test_{text}" in result.output.replace("sparse_tensor_", "")
    assert result.exit_code == 1


def test_onnxruntime_itself_differs_in_nothing(tmp_path: Path) -> None:
    path = checkout(tmp_path, SCRIPT[: SCRIPT.index("    def test_wrong")])
    result = CliRunner().invoke(command.main, [path, "--on-onnxruntime"])
    assert result.output.splitlines()[-1].endswith(" | 2 | 0 | 2 | 0 |")
    assert result.exit_code == 0


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    result = CliRunner().invoke(command.main, [str(tmp_path)])
    assert "has no onnxruntime/test/python/onnxruntime_test_python.py" in result.output
    result = CliRunner().invoke(command.main, [checkout(tmp_path, "import nothing_of_this_name")])
    assert "onnxruntime_test_python.py: cannot be run" in result.output


def test_import_lines() -> None:
    source = "        from onnxruntime.capi.collection import check  # noqa"
    assert changed(source, on_onnxruntime=True) == source
    assert changed(source, on_onnxruntime=False) == source.replace("from ", "from tvm_qnn.", 1)
    lines = changed(SCRIPT, on_onnxruntime=True).splitlines()
    assert [line for line in lines if line not in SCRIPT.splitlines()] == [
        "from tests.onnxruntime_tests.stand_ins import get_name"
    ]


def test_each_test_counts_in_one_way() -> None:
    assert not DIFFERENCES.keys() & SAY_NOTHING.keys()


@pytest.mark.parametrize("ort", [real, own], ids=["onnxruntime", "tvm_qnn"])
def test_models(ort: Any, tmp_path: Path) -> None:
    stored, folder = tmp_path / "stored", tmp_path / "made"
    stored.mkdir()
    onnx.save(MADE["matmul_1.onnx"](), stored / "mul_1.onnx")
    (stored / "mul_1.bin").write_bytes(b"beside")
    write_models(stored, folder)
    assert {file.name for file in folder.rglob("*.onnx")} == {Path(name).name for name in MADE}
    assert (folder / "mul_1.bin").read_bytes() == b"beside"
    assert (folder / "mul_1.onnx").read_bytes() == (stored / "mul_1.onnx").read_bytes()
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for name, wanted in (
        *(("matmul_1.onnx", [[2], [8], [14]]), ("matmul_2.onnx", [[2], [8], [14]])),
        ("model_with_orig_ext_data.onnx", [[0, 2], [6, 12], [20, 30]]),
    ):
        assert ort.InferenceSession(folder / name).run(None, {"X": x})[0].tolist() == wanted
