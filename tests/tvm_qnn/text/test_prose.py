"""The trained models write ONNX Runtime's tokens."""

import shutil
from collections import deque
from pathlib import Path
from typing import Any

import pytest

import tvm_qnn as qnn
from tests.support.decoders import OnRuntime
from tests.support.snippets import run_python
from tvm_qnn import prose

pytestmark = pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning")


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize("style", prose.STYLES)
def test_tokens_are_onnx_runtimes(style: str) -> None:
    decoder = qnn.decoder(prose.model(style), num_threads=1)
    runtime = OnRuntime(prose.model(style).read_bytes())
    prompt = list(b"A library ")
    # Of int8, data has one scale for all tokens that are read at once: here one by one.
    portions = [prompt] if style == "int4" else [[each] for each in prompt]
    for portion in portions[:-1]:
        runtime.step(portion)
    assert decoder.generate(prompt, 100) == runtime.generate(portions[-1], 100)


def test_files_are_small() -> None:
    assert sum(prose.model(style).stat().st_size for style in prose.STYLES) < 3_000_000


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
