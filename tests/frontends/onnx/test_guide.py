"""The guide on ONNX models runs as it stands."""

from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tests.support.snippets import run_python


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime.quantization")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    deque(run_python("docs/guides/onnx.md", names))
    assert names["scores"].shape == (1, 16, 1, 1)
    assert {"scores_QuantizeLinear_Output", "sums_QuantizeLinear_Output"} & {*names["found"]}
    assert (tmp_path / "small.so").exists()
