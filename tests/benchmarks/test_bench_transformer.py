from pathlib import Path

import pytest

from tests.support.commands import said

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def test_a_row_for_each_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import bench_transformer
    from benchmarks.transformer import Sizes

    monkeypatch.setattr(bench_transformer, "SMALL", Sizes(1, 64, 1, 128, 40, 8))
    arguments = ["--layers", "1", "--width", "64", "--tokens", "8", "--rounds", "1"]
    said(bench_transformer.main, [*arguments, "--output", str(tmp_path)])
    text = (tmp_path / "transformer.md").read_text()
    assert text.count("when it runs") == 2
    assert "before, uint8" in text
