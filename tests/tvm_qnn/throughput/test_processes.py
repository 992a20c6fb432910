from pathlib import Path

import pytest

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn import digits
from tvm_qnn.throughput import open_vino
from tvm_qnn.throughput.litert import start_litert
from tvm_qnn.throughput.open_vino import start_open_vino
from tvm_qnn.throughput.processes import Processes

ROOT = Path(__file__).resolve().parents[3]

SERVING = """
from tvm_qnn.throughput.processes import serve
serve(lambda seconds: 100 * seconds)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder from which processes import modules."""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    return tmp_path


def test_rates_of_all_processes_are_added(folder: Path) -> None:
    (folder / "served.py").write_text(SERVING)
    with Processes("served", [], 3) as streams:
        assert streams.runs_per_second(0.5) == 150
        assert streams.runs_per_second(2) == 600


def test_processes_that_end_are_errors(folder: Path) -> None:
    (folder / "failing.py").write_text("raise SystemExit('it does not take this')")
    fails(r"^it does not take this$", Processes, "failing", [], 2)
    (folder / "silent.py").write_text("import os\nos.abort()")
    fails("it ended with -6", Processes, "silent", [], 1)
    (folder / "once.py").write_text("print('ready', flush=True)\ninput()\nraise SystemExit('gone')")
    with Processes("once", [], 1) as streams, pytest.raises(QnnError, match="gone"):
        streams.runs_per_second(1)


def test_litert_runs_batches_in_processes_or_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("uint8"))
    with start_litert(path, 2, 2) as streams:
        assert streams.runs_per_second(0.05) > 40
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"broken")
    fails("LiteRT rejects the model", start_litert, path, 1, 1)


def test_without_openvino_a_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_vino, "find_spec", lambda _name: None)
    fails("openvino is not installed", start_open_vino, tmp_path / "model.tflite", 1, 1)
