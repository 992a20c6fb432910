"""The guide's snippets, on the model that comes with the package."""

import shutil
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tests.support.snippets import run_python
from tvm_qnn import prose


@pytest.mark.usefixtures("builds")
@pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning")
def test_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    monkeypatch.chdir(tmp_path)
    shutil.copy(prose.model("int4"), "decoder.onnx")
    names: dict[str, Any] = {}
    deque(run_python("docs/guides/text.md", names))
    assert len(names["tokens"]) == 20
    assert names["scores"].shape == (1, 256)
    assert names["decoder"].generate([84, 104, 101, 32], 20) == names["tokens"]
