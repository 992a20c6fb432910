from pathlib import Path

import pytest

from tests.support.commands import said

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from benchmarks.bench_tokens import main
from tests.support.decoders import grouped, plain

pytestmark = pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning")


def test_both_write_the_same_tokens(tmp_path: Path) -> None:
    for name, model in (("grouped", grouped()), ("plain", plain())):
        (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
    words = [str(tmp_path / f"{name}.onnx") for name in ("grouped", "plain")]
    words += ["--prompt", "5", "--tokens", "6", "--rounds", "1", "--output", str(tmp_path)]
    said(main, words)
    text = (tmp_path / "tokens.md").read_text("utf-8")
    assert text.count("| 6 of 6 |") == 2
    (row,) = (line for line in text.splitlines() if "| plain.onnx" in line)
    assert "| – |" in row
