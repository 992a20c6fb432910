"""Models that were compiled before."""

import importlib
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import tvm

from qnn_ops.errors import LeftInFloatWarning
from tests.support.linking import needs_linker
from tests.support.modules import adder
from tvm_qnn import build
from tvm_qnn.io import kept
from tvm_qnn.library import known as known_models
from tvm_qnn.library.known import FOLDER, known, library_of
from tvm_qnn.library.library import Library

pytestmark = needs_linker

X = np.arange(6, dtype=np.int8).reshape(2, 3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


class Adders:
    """Libraries that add a number; remembers those that were compiled."""

    def __init__(self) -> None:
        self.compiled: list[int] = []
        self.reason = ""

    def check(self, number: int, packages: Iterable[str] = ()) -> None:
        def compiled() -> Library:
            self.compiled.append(number)
            mod = adder()
            if self.reason:
                marks = {"arithmetic": "xnnpack", "left_in_float": [self.reason]}
                mod["main"] = mod["main"].with_attrs(marks)
            params = {"w": np.full((2, 3), number, np.int8)}
            return build(mod, "host", params, num_threads=1)

        library = library_of(packages, [b"adder", bytes([number])], compiled, 1)
        assert library.num_threads == 1
        np.testing.assert_array_equal(library.run(X), X + number)


def test_a_known_model_is_not_compiled(folder: Path) -> None:
    adders = Adders()
    for number in (1, 1, 2, 1, 2):
        adders.check(number)
    assert adders.compiled == [1, 2]
    assert len(list((folder / FOLDER).iterdir())) == 2


@pytest.mark.usefixtures("folder")
def test_a_known_model_warns_as_its_build_did() -> None:
    adders = Adders()
    adders.reason = "a reason"
    for _ in range(2):
        with pytest.warns(LeftInFloatWarning, match="computed in float32: a reason") as caught:
            adders.check(1)
        assert len(caught) == 1
    assert adders.compiled == [1]
    adders.reason = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adders.check(2)


@pytest.mark.parametrize(
    ("table", "code"),
    [("tflite.options.custom.RAW", "CUSTOM:A"), ("onnx.read.names.CUSTOM", "a.B")],
)
def test_rules_for_custom_operators_compile_anew(
    table: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"frontends.{table.rpartition('.')[0]}")
    adders = Adders()
    adders.check(1)
    monkeypatch.setattr(module, table.rpartition(".")[2], {code})
    adders.check(1)
    assert adders.compiled == [1, 1]


@pytest.mark.parametrize("content", ["", "nonsense", "0" * 48, "\xff"])
def test_a_key_that_is_damaged_is_made_anew(content: str, folder: Path) -> None:
    adders = Adders()
    adders.check(1)
    (path,) = (folder / FOLDER).iterdir()
    before = path.read_bytes()
    path.write_text(content, encoding="latin-1")
    adders.check(1)
    assert adders.compiled == [1, 1]
    assert path.read_bytes() == before


def test_a_library_that_was_removed_is_made_anew(folder: Path) -> None:
    adders = Adders()
    adders.check(1)
    for path in folder.glob("*.so"):
        path.unlink()
    adders.check(1)
    assert adders.compiled == [1, 1]


def test_what_imports_is_part_of_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adders = Adders()
    adders.check(1)
    adders.check(1, ["numpy"])
    monkeypatch.setattr(known_models, "_makers", lambda: {"sources": "changed"})
    adders.check(1)
    monkeypatch.setattr(known_models, "_processor", lambda: "another")
    adders.check(1)
    assert len(adders.compiled) == len(list((folder / FOLDER).iterdir())) == 4


@pytest.mark.usefixtures("folder")
def test_other_parts_and_passes_are_another_key() -> None:
    places = [known((), parts) for parts in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"])]
    assert len({place._key for place in places if place}) == 3
    assert known((), [b"model"]) is not None
    with tvm.transform.PassContext(disabled_pass=["FuseOps"]):
        assert known((), [b"model"]) is None


def test_nothing_is_kept_where_nothing_shall_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kept.VARIABLE, "0")
    adders = Adders()
    adders.check(1)
    adders.check(1)
    assert adders.compiled == [1, 1]
