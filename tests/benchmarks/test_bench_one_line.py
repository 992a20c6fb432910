import io
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from benchmarks import bench_one_line
from benchmarks.bench_one_line import main
from tests.support.commands import refused, said
from tvm_qnn import digits


def test_all_packages_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(program: str, path: Path) -> tuple[float, ...]:
        monkeypatch.setattr(sys, "argv", ["", str(path)])
        with redirect_stdout(io.StringIO()) as printed:
            exec(program, {})
        return tuple(map(float, printed.getvalue().split()))

    monkeypatch.setattr(bench_one_line, "timed", timed)  # in a process of its own
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    text = said(main, [str(path), "--repeat", "1", "--calls", "2"])
    rows = [line.split(" | ") for line in text.splitlines() if "digits" in line]
    assert [row[1] for row in rows] == [
        "tvm_qnn.litert",
        "ai_edge_litert.interpreter",
        "Library.run",
    ]
    assert all(float(row[2]) >= 0 < float(row[3].split()[0]) for row in rows)


def test_a_model_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"no model")
    assert "model.tflite" in refused(main, [str(path), "--repeat", "1"])


@pytest.mark.torch
def test_programs_of_pytorch_are_timed(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    path = tmp_path / "layer.pt2"
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(4),)), path)
    text = said(main, [str(path), "--repeat", "1", "--calls", "2"])
    rows = [line.split(" | ") for line in text.splitlines() if "layer" in line]
    assert [row[1] for row in rows] == ["tvm_qnn", "eager", "Library.run"]
