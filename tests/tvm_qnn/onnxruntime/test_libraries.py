"""Libraries of models, some of which were compiled before."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import LeftInFloatWarning
from tests.frontends.onnx.converters.windows import test_convolutions
from tests.support.linking import needs_linker
from tests.support.onnx_sessions import check_equal, model_of, onnx
from tvm_qnn import onnxruntime as own
from tvm_qnn.io import kept
from tvm_qnn.onnxruntime.libraries import Libraries

pytestmark = needs_linker

X = np.arange(6, dtype=np.float32).reshape(2, 3)
PROGRAM = """
import sys, numpy
from tvm_qnn.onnxruntime import InferenceSession
session = InferenceSession(sys.argv[1])
print(session.run(None, {"x": numpy.ones((2, 3), numpy.float32)})[0].sum(), "tvm" in sys.modules)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the shapes for which something is compiled from now on."""
    done: list[Any] = []
    compile_one = Libraries._compiled

    def count(libraries: Any, proto: Any, shapes: Any) -> Any:
        done.append(tuple(shapes.values()))
        return compile_one(libraries, proto, shapes)

    monkeypatch.setattr(Libraries, "_compiled", count)
    return done


def model(factor: float = 2, size: int = 1) -> Any:
    constants = {"k": np.full(size, factor, np.float32)}
    nodes = [("Mul", "x k", "z")]
    return model_of([("x", "FLOAT", ["N", 3])], [("z", "FLOAT", None)], nodes, constants)


def result(source: Any, data: Any = X) -> Any:
    source = source if isinstance(source, str) else source.SerializeToString()
    return own.InferenceSession(source).run(None, {"x": data})[0]


def test_a_known_model_is_not_compiled(compiled: list[Any]) -> None:
    for _ in range(2):
        check_equal(result(model()), 2 * X)
    assert compiled == [((2, 3),)]
    check_equal(result(model(), X[:1]), 2 * X[:1])
    check_equal(result(model(3)), 3 * X)
    assert compiled == [((2, 3),), ((1, 3),), ((2, 3),)]


def test_a_known_model_warns_as_its_build_did(compiled: list[Any]) -> None:
    left = test_convolutions.model(2 * test_convolutions.STEP).model.SerializeToString()
    for _ in range(2):
        with pytest.warns(LeftInFloatWarning, match="the scale of the bias") as caught:
            own.InferenceSession(left)
        assert len(caught) == 1
    assert len(compiled) == 1


def test_constants_in_other_files_are_part_of_the_key(tmp_path: Path) -> None:
    # So large that they stay there.
    path, data = str(tmp_path / "m.onnx"), np.ones((1, 20_000), np.float32)
    for factor in (2, 5):
        wide = model(factor, 20_000)
        wide.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 20_000
        (tmp_path / "data").unlink(missing_ok=True)
        onnx.save(wide, path, save_as_external_data=True, location="data", size_threshold=0)
        check_equal(result(path, data), factor * data)


def test_another_process_needs_no_compiler(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(model(), path)
    told = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, path], check=True, capture_output=True, text=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert told == [["12.0", "True"], ["12.0", "False"]]
    assert folder.is_dir()


def test_inputs_that_decide_are_part_of_the_key(compiled: list[Any]) -> None:
    nodes = [("Add", "axis k", "axes"), ("ReduceSum", "x axes", "z")]
    inputs = [("x", "FLOAT", [2, 3]), ("axis", "INT64", [1])]
    net = model_of(inputs, [("z", "FLOAT", None)], nodes, {"k": np.ones(1, np.int64)})
    session = own.InferenceSession(net.SerializeToString())
    assert compiled == []
    for axis in (-1, 0, -1):
        feed = {"x": X, "axis": np.array([axis], np.int64)}
        check_equal(session.run(None, feed)[0], X.sum(axis + 1, keepdims=True))
    assert compiled == [((2, 3),)] * 2
