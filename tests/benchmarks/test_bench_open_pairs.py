import pytest

from benchmarks.bench_open_pairs import main
from tests.support.commands import said


def test_pairs_are_compared_and_timed() -> None:
    pytest.importorskip("onnxruntime")
    words = ["--pairs", "2", "--fixed", "1", "--layers", "1", "--width", "64", "--rounds", "1"]
    text = said(main, words)
    rows = [line.split("│")[1:3] for line in text.splitlines() if line[:1] == "│"]
    assert [[word.strip() for word in row] for row in rows] == [
        ["ONNX Runtime", "2"],
        ["a build for the size", "1"],
    ]
    assert "largest difference from ONNX Runtime: " in text
