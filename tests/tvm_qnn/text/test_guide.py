"""The guide's snippets, on the model that comes with the package."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tvm_qnn import prose

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "text.md"


@pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning")
def test_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    monkeypatch.chdir(tmp_path)
    shutil.copy(prose.model("int4"), "decoder.onnx")
    snippets = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(snippet, names)
    assert len(names["tokens"]) == 20
    assert names["scores"].shape == (1, 256)
    assert names["decoder"].generate([84, 104, 101, 32], 20) == names["tokens"]
