"""`python -m tests.census`."""

import json
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.census import trial
from tests.census.__main__ import main
from tests.census.table import tables
from tests.census.trial import Outcome, try_file
from tests.support.commands import said

Q = Quantization.per_tensor(0.05, 3)


def model(*codes: str, dtype: str = "int8") -> bytes:
    writer = ModelWriter()
    encoding = Q if dtype == "int8" else None
    value = start = writer.tensor("x", (1, 4), dtype, encoding)
    for number, code in enumerate(codes):
        result = writer.tensor(f"y{number}", (1, 4), dtype, encoding)
        writer.operator(code, [value], [result])
        value = result
    return writer.finish([start], [value])


def random_numbers() -> bytes:
    """Return a model that LiteRT runs and this project refuses."""
    writer = ModelWriter()
    start = writer.tensor("x", (1, 4), "int8", Q)
    shape = writer.tensor("shape", (2,), "int32", data=np.array([1, 4], np.int32))
    result = writer.tensor("y", (1, 4), "float32")
    writer.operator("RANDOM_UNIFORM", [shape], [result])
    return writer.finish([start], [result])


def test_files_are_sorted_by_what_becomes_of_them(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "a.tflite").write_bytes(model("HARD_SWISH"))
    (tmp_path / "deeper" / "b.tflite").write_bytes(random_numbers())
    (tmp_path / "c.tflite").write_bytes(b"nothing")
    text = said(main, [str(tmp_path), "--json"])
    found = {each["file"]: each for each in json.loads(text)}
    assert found["a.tflite"]["kind"] == "equal"
    assert found["a.tflite"]["elements"] == 4
    assert found["deeper/b.tflite"]["kind"] == "refused"
    reason = "RANDOM_UNIFORM: its results are random numbers, others in every run"
    assert found["deeper/b.tflite"]["reasons"] == [reason]
    assert found["c.tflite"]["kind"] == "LiteRT refuses"
    assert [each for each in found if found[each]["imports"]] == ["a.tflite"]


def test_what_litert_takes_and_is_not_read_here_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.tflite"
    scale, nan = (np.array([value], np.float32).tobytes() for value in (0.05, np.nan))
    file.write_bytes(model("HARD_SWISH").replace(scale, nan))
    outcome = try_file(tmp_path, file)
    assert (outcome.kind, outcome.imports) == ("refused", False)
    assert outcome.reasons == (
        "tensor: malformed quantization: scale # is nan, needs a positive number",
    )


def test_what_differs_is_told_with_the_first_operator(tmp_path: Path) -> None:
    file = tmp_path / "a.tflite"
    file.write_bytes(model("HARD_SWISH", "RELU"))

    def wrong(*arguments: object) -> dict[int, np.ndarray]:
        return {1: np.zeros((1, 4), np.int8), 2: np.zeros((1, 4), np.int8)}

    with patch.object(trial, "litert_tensors", wrong):
        outcome = try_file(tmp_path, file)
    assert outcome.kind == "differs"
    assert outcome.reasons == ("first at HARD_SWISH of int8",)
    assert outcome.differing > 0


def test_floats_may_lie_a_little_apart(tmp_path: Path) -> None:
    file = tmp_path / "a.tflite"
    file.write_bytes(model("TANH", "NEG", dtype="float32"))

    def apart(by: float) -> Outcome:
        def other(content: bytes, inputs: list[np.ndarray]) -> dict[int, np.ndarray]:
            result = np.tanh(inputs[0]) * np.float32(1 + by)
            return {1: result, 2: -result}

        with patch.object(trial, "litert_tensors", other):
            return try_file(tmp_path, file)

    close = apart(1e-6)
    assert close.kind == "close"
    assert close.reasons == ("first at TANH of float32",)
    assert apart(1e-3).kind == "differs"


def test_what_differs_more_and_more_may_be_close_operator_by_operator(tmp_path: Path) -> None:
    file = tmp_path / "a.tflite"
    writer = ModelWriter()
    tensors = [writer.tensor(name, (1, 4), "float32") for name in "xyz"]
    writer.operator("TANH", tensors[:1], tensors[1:2])
    writer.operator("EXP", tensors[1:2], tensors[2:])
    file.write_bytes(writer.finish(tensors[:1], tensors[2:]))

    def apart(by: float, behind: float) -> str:
        def other(content: bytes, inputs: list[np.ndarray]) -> dict[int, np.ndarray]:
            middle = np.tanh(inputs[0]) * np.float32(1 + by)
            return {1: middle, 2: np.exp(middle) * np.float32(1 + behind)}

        with patch.object(trial, "litert_tensors", other), patch.object(trial, "_CLOSE_LATER", 0.0):
            return try_file(tmp_path, file).kind

    assert apart(5e-6, 0.0) == "close"
    assert apart(5e-6, 1e-3) == "differs"
    assert apart(1e-3, 0.0) == "differs"


def test_a_process_that_dies_is_an_outcome(tmp_path: Path) -> None:
    file = tmp_path / "a.tflite"
    file.write_bytes(model("RELU"))
    with patch.object(trial, "compare", lambda *_, **__: os._exit(9)):
        assert try_file(tmp_path, file).kind == "crashed"
    with patch.object(trial, "litert_tensors", lambda *_, **__: os._exit(9)):
        outcome = try_file(tmp_path, file)
    assert (outcome.kind, outcome.imports) == ("LiteRT dies", True)
    assert outcome.reasons == ("the process died with code 9",)


def test_reasons_are_counted_alone_and_with_others() -> None:
    outcomes = [
        Outcome("a", "refused", ("SVDF",)),
        Outcome("b", "refused", ("SVDF", "TILE")),
        Outcome("c", "equal"),
    ]
    text = tables(outcomes)
    assert "| refused | 2 |" in text
    assert "| SVDF | 2 | 1 |" in text
    assert "| TILE | 1 | 0 |" in text
