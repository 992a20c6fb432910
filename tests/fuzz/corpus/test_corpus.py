"""Every file of the corpus is refused as it should be, in little time and memory."""

import json
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from frontends.onnx import from_onnx
from frontends.tflite import from_tflite
from tests.fuzz.campaign import MEGABYTES, SECONDS
from tests.fuzz.corpus import tflite_cases
from tests.fuzz.corpus.case import FOLDER
from tests.support.children import answers, room

HAS_ONNX = find_spec("onnx") is not None
if HAS_ONNX:
    # Its import takes long, and is no part of a model's.
    import tvm.relax.frontend.onnx  # noqa: F401

EXPECTED: dict[str, dict[str, str]] = json.loads((FOLDER / "expected.json").read_text())


def outcome(name: str) -> tuple[str, str]:
    """Return the class and the text of the error; empty where the model is imported."""
    importer = name.partition("_")[0]
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            IMPORTERS[importer](name)
    except Exception as error:
        return type(error).__name__, str(error)
    finally:
        assert time.process_time() - start < SECONDS
    return "", ""


def _import_tflite(name: str) -> Any:
    return from_tflite((FOLDER / f"{name}.tflite").read_bytes())


def _import_onnx(name: str) -> Any:
    return from_onnx(FOLDER / f"{name}.onnx")


IMPORTERS: dict[str, Callable[[str], Any]] = {"tflite": _import_tflite, "onnx": _import_onnx}
NAMES = [name for name in EXPECTED if HAS_ONNX or not name.startswith("onnx_")]


@pytest.mark.parametrize("name", NAMES)
def test_error_of_a_hostile_file(name: str) -> None:
    error, text = outcome(name)
    assert error == EXPECTED[name]["error"], text
    assert EXPECTED[name]["message"] in text


def test_no_file_takes_much_memory() -> None:
    found = answers(lambda name: outcome(name)[0], NAMES, 300, room(MEGABYTES))
    assert list(found) == [EXPECTED[name]["error"] for name in NAMES]


def test_the_files_are_those_of_the_script() -> None:
    onnx_cases = pytest.importorskip("tests.fuzz.corpus.onnx_cases", reason="it needs onnx")
    cases = [*tflite_cases.cases(), *onnx_cases.cases()]
    kept = {file.name: file.read_bytes() for file in FOLDER.iterdir()}
    assert json.loads(kept.pop("expected.json")) == {
        case.name: {"error": case.error, "message": case.message} for case in cases
    }
    assert kept.keys() == {f"{case.name}.{ending}" for case in cases for ending in case.files}
