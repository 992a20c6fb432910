from __future__ import annotations

from pathlib import Path

import pytest

from tvm_qnn import digits


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model of handwritten digits, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    return path
