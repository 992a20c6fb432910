from pathlib import Path

import pytest

from tests.support.commands import refused, said

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from benchmarks.bench_few_bits import main

SHORT = ["--rounds", "1", "--seconds", "0.01"]


def test_layers_are_timed_in_all_forms(tmp_path: Path) -> None:
    words = ["--layer", "2,64,40", *SHORT, "--output", str(tmp_path)]
    said(main, words)
    text = (tmp_path / "few_bits.md").read_text()
    assert text.count("| 2,64,40 |") == 4
    assert "onnxruntime" in text


@pytest.mark.parametrize("layer", ["1,2", "1,33,4", "0,32,4"])
def test_layers_that_are_none_are_refused(layer: str) -> None:
    assert "a layer" in refused(main, ["--layer", layer, *SHORT], code=2)
