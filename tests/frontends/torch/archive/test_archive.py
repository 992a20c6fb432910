"""Files of programs that anyone may have written: nothing of theirs runs."""

import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import tvm_qnn as qnn
from frontends.errors import ModelFormatError
from frontends.torch.archive.checks import check_expression
from frontends.torch.reader import read_program
from tvm_qnn.cli import main

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from tests.support import torch_archives as archives  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "canary"
    (tmp_path / "harmful_module.py").write_text(f"open({str(path)!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    return path


@pytest.mark.parametrize("kind", list(archives.hostile(Path("canary"))))
def test_nothing_of_a_file_runs(kind: str, canary: Path) -> None:
    content = archives.hostile(canary)[kind]
    path = canary.with_suffix(".pt2")
    path.write_bytes(content)
    inspected = CliRunner().invoke(main, ["inspect", str(path)])
    if kind == "samples":  # which nobody needs, and nobody reads
        assert inspected.exit_code == 0
    else:
        assert inspected.exit_code == 1
        assert "the .pt2 file cannot be read" in inspected.output
        with pytest.raises(ModelFormatError, match=_REASONS.get(kind, "pickled, which can run")):
            qnn.from_exported_program(path)
    assert not canary.exists()


_REASONS = {
    "path": "is pickled",
    "size": "is no expression of sizes",
    "size in a function": "is no expression of sizes",
    "default of an input": "cannot be a",
    "import by a dictionary": "are of 'collections.defaultdict'",
    "import by a key": "are of 'builtins.dict'",
    "attribute of torch": r"calls torch\.os\.mkdir: only operators of PyTorch's own on tensors",
    "file of a tensor": r"calls torch\.ops\.aten\.from_file\.default",
    "saving": r"calls torch\.ops\.aten\.save\.default",
    "library": "holds compiled code",
    "older layout": "is no part of a program",
}


@pytest.mark.parametrize("kind", list(archives.oversized()))
def test_small_files_that_unpack_to_much_are_refused_at_once(kind: str) -> None:
    content = archives.oversized()[kind]
    read_program(archives.contents())  # what is imported first is imported
    start = time.process_time()
    with pytest.raises(ModelFormatError, match=r"the \.pt2 file cannot be read"):
        read_program(content)
    assert time.process_time() - start < 2


def test_what_torch_writes_is_read() -> None:
    for is_open in (False, True):
        content = archives.contents(is_open=is_open)
        shapes = {"x": (3, 2, 5, 5)} if is_open else None
        packed = archives.zipped(archives.files_of(content), zipfile.ZIP_DEFLATED)
        added = archives.changed(content=content, parts={"archive/extra/notes": b"text"})
        texts = {
            qnn.from_exported_program(each, shapes)[0].script() for each in (content, packed, added)
        }
        assert len(texts) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("s0 + 2 * s1 // 3 - 1", "-s77 % 8", "Max(1, s0)", "Symbol('s0', integer=True)"),
        "Mul(Integer(-2), FloorDiv(Symbol('s0', positive=True), Integer(3)))",
        "Pow(Symbol('s0'), Integer(2))",
    ],
)
def test_arithmetic_of_sizes_is_an_expression(text: str) -> None:
    check_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "s0.real", "s0[0]", "s0 ** 2", "1.5", "'s0'", "lambda: 1", "s0 if s1 else s2"),
        *("print(s0)", "Max(*s0)", "Max(s0, key=1)", "Symbol('a b')", "Symbol('s0', 1)", "Pow(2)"),
        *("Symbol('s0', integer=s1)", "Integer(s0)", "Pow(Integer(2), Integer(99))", "s0 := 1"),
        *("9" * 20, "+" * 2000 + "1", "(" * 500, "Max(" * 30 + "1" + ")" * 30, "s0\0"),
    ],
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(ModelFormatError, match="is no expression of sizes"):
        check_expression(text)
