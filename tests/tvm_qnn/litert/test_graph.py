"""Subgraphs whose libraries were compiled before."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.linking import needs_linker
from tests.tvm_qnn.litert.models import addition, chain, counter, filters, two_inputs
from tests.tvm_qnn.litert.programs import made
from tvm_qnn.io import kept
from tvm_qnn.litert import interpreter as ours
from tvm_qnn.litert.graph import Graph

pytestmark = needs_linker

PROGRAM = """
import sys
import numpy as np
from tvm_qnn.litert import Interpreter


def results(path, keep, rows):
    interpreter = Interpreter(path, experimental_preserve_all_tensors=keep)
    details = interpreter.get_input_details()
    for each in details:
        interpreter.resize_tensor_input(each["index"], [rows, *each["shape"][1:]])
    interpreter.allocate_tensors()
    found = []
    for step in range(3):
        for each in details:
            shape = rows, *each["shape"][1:]
            value = (np.arange(np.prod(shape)) + step).reshape(shape).astype(each["dtype"])
            interpreter.set_tensor(each["index"], value)
        interpreter.invoke()
        computed = [each["index"] for each in interpreter.get_tensor_details()] if keep else []
        given = [each["index"] for each in interpreter.get_output_details()]
        found += [interpreter.get_tensor(index).tolist() for index in (*given, *computed)]
    for key, ends in interpreter.get_signature_list().items():
        run = interpreter.get_signature_runner(key)
        taken = {name: np.ones((1, 4), np.float32) for name in ends["inputs"]}
        found += [{name: value.tolist() for name, value in run(**taken).items()} for _ in range(2)]
    return found


cases = iter(sys.argv[1:])
for path, keep, rows in zip(cases, cases, cases):
    print(results(path, keep == "keep", int(rows)))
print("tvm" in sys.modules)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """Record what is compiled from now on."""
    done: list[Graph] = []
    compile_one = Graph._compiled

    def count(graph: Graph) -> Any:
        done.append(graph)
        return compile_one(graph)

    monkeypatch.setattr(Graph, "_compiled", count)
    return done


def test_another_process_needs_no_compiler(tmp_path: Path) -> None:
    cases: list[tuple[Callable[[], bytes], str, str]] = [
        (chain, "", "1"),
        (chain, "", "3"),
        (chain, "keep", "2"),
        (two_inputs, "", "1"),
        (filters, "", "1"),
        (filters, "keep", "1"),
        (counter, "", "1"),
    ]
    command = [sys.executable, "-c", PROGRAM]
    for model, keep, rows in cases:
        path = tmp_path / f"{model.__name__}.tflite"
        path.write_bytes(model())
        command += [str(path), keep, rows]
    first, second = (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        for _ in range(2)
    )
    assert [first.pop(), second.pop()] == ["True", "False"]
    assert first == second
    assert len(first) == len(cases)
    assert "[]" not in first


def result(content: bytes, shape: tuple[int, ...], dtype: str, **options: Any) -> Any:
    interpreter = made(ours, content, **options)
    interpreter.resize_tensor_input(0, shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist()


def test_what_decides_is_part_of_the_key(compiled: list[Graph]) -> None:
    changes: list[tuple[bytes, tuple[int, ...], str, dict[str, Any]]] = [
        (chain(), (1, 4), "uint8", {}),
        (chain(), (2, 4), "uint8", {}),
        (chain(), (2, 4), "uint8", {"experimental_preserve_all_tensors": True}),
        (addition(), (1, 4), "float32", {}),
    ]
    for number, (content, shape, dtype, options) in enumerate(changes, 1):
        first = result(content, shape, dtype, **options)
        assert len(compiled) == number
        assert result(content, shape, dtype, **options) == first
        assert len(compiled) == number


def test_subgraphs_have_libraries_of_their_own(compiled: list[Graph]) -> None:
    for _ in range(2):
        interpreter = made(ours, counter())
        ones = np.ones((1, 4), np.float32)
        add, subtract = map(interpreter.get_signature_runner, ("add", "subtract"))
        assert add(x=ones)["y"][0, 0] == 11
        assert subtract(x=2 * ones)["y"][0, 0] == 9
    assert len(compiled) == 2
