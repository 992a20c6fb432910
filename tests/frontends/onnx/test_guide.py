"""The guide on ONNX models runs as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime.quantization")
    guide = Path(__file__).parents[3] / "docs" / "guides" / "onnx.md"
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for part in guide.read_text(encoding="utf-8").split("```python\n")[1:]:
        exec(part.split("```")[0], names)
    assert names["scores"].shape == (1, 16, 1, 1)
    assert {"scores_QuantizeLinear_Output", "sums_QuantizeLinear_Output"} & {*names["found"]}
    assert (tmp_path / "small.so").exists()
