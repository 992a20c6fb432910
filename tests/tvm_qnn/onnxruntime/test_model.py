"""Descriptions of models, beside ONNX Runtime's."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.onnx_networks import NETWORKS, Style
from tests.support.onnx_sessions import check_same, check_same_error, model_of, onnx, outcome
from tvm_qnn import onnxruntime as own
from tvm_qnn.onnxruntime import capi

STATES = capi.onnxruntime_pybind11_state


def described(model: Any, ort: Any) -> Any:
    session = ort.InferenceSession(model.SerializeToString())
    args = (*session.get_inputs(), *session.get_outputs(), *session.get_overridable_initializers())
    return [(each.name, each.type, each.shape, str(each)) for each in args]


X: Any = ("x", "FLOAT", ["N", 3])
CASES: dict[str, tuple[Any, ...]] = {
    "names of the file": ([X], [("z", "FLOAT", ["M", "C"])], [("Relu", "x", "z")]),
    "a size of the file": ([X], [("z", "FLOAT", [2, 3])], [("Relu", "x", "z")]),
    "a wrong size": ([X], [("z", "FLOAT", [2, 4])], [("Relu", "x", "z")]),
    "no shape": ([X], [("z", "FLOAT", None)], [("Relu", "x", "z")]),
    "half of a shape": ([X], [("z", "FLOAT", ["M", None])], [("Relu", "x", "z")]),
    "sizes that nothing tells": ([X], [("i", "INT64", None)], [("NonZero", "x", "i")]),
    "an empty name": ([("x", "FLOAT", ["", 3])], [("z", "FLOAT", None)], [("Relu", "x", "z")]),
    "a size of 0": ([("x", "FLOAT", [0, 3])], [("z", "FLOAT", [0, 3])], [("Relu", "x", "z")]),
    "a size below": ([("x", "FLOAT", [-1, 3])], [("z", "FLOAT", None)], [("Relu", "x", "z")]),
    "a number": ([("x", "INT64", [])], [("z", "INT64", [])], [("Add", "x x", "z")]),
    "any shape": ([("x", "FLOAT", None)], [("z", "FLOAT", None)], [("Relu", "x", "z")]),
    "a reshape": (
        [("x", "FLOAT", ["N", 4])],
        [("z", "FLOAT", ["a", "b", "c"])],
        [("Reshape", "x r", "z")],
        {"r": np.array([-1, 2, 2])},
    ),
    "a product": (
        [("x", "FLOAT", ["N", "S", 4])],
        [("z", "FLOAT", ["a", "b", "c"])],
        [("MatMul", "x r", "z")],
        {"r": np.ones((4, 2), np.float32)},
    ),
    "a constant to give": (
        [X, ("k", "FLOAT", [1])],
        [("z", "FLOAT", ["N", 3])],
        [("Add", "x k", "z")],
        {"k": np.ones(1, np.float32)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_inputs_and_outputs_are_described_alike(case: str) -> None:
    check_same(lambda ort: described(model_of(*CASES[case]), ort))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("qdq", [True, False])
def test_networks_are_described_alike(name: str, qdq: bool) -> None:
    model = NETWORKS[name](Style("uint8", "int8", False, qdq))
    check_same(lambda ort: described(model, ort))


@pytest.mark.parametrize(
    "kind",
    [
        *("FLOAT", "DOUBLE", "FLOAT16", "BOOL", "INT8", "INT16", "INT32", "INT64"),
        *("UINT8", "UINT16", "UINT32", "UINT64"),
    ],
)
def test_types_have_the_same_names(kind: str) -> None:
    model = model_of([("x", kind, [2])], [("z", kind, [2])], [("Identity", "x", "z")])
    check_same(lambda ort: described(model, ort))


def test_metadata_is_the_files() -> None:
    told: dict[str, Any] = {"producer_name": "maker", "domain": "org.here", "model_version": 7}
    model = model_of([X], [("z", "FLOAT", None)], [("Relu", "x", "z")], doc_string="text", **told)
    model.graph.doc_string = "of the graph"
    onnx.helper.set_model_props(model, {"labels": "cat,dog"})

    def work(ort: Any) -> Any:
        meta = ort.InferenceSession(model.SerializeToString()).get_modelmeta()
        return (
            [meta.producer_name, meta.graph_name, meta.domain, meta.description],
            [meta.graph_description, meta.version, meta.custom_metadata_map],
        )

    check_same(work)


def external(folder: Path) -> Path:
    # Large enough to stay in its file, and small enough to be read.
    constants = {"k": np.arange(30_000, dtype=np.float32), "b": np.ones(1, np.float32)}
    model = model_of(
        [("x", "FLOAT", ["N", 30_000])],
        [("z", "FLOAT", None)],
        [("Mul", "x k", "y"), ("Add", "y b", "z")],
        constants,
    )
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="data.bin", size_threshold=0)
    return path


def test_data_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = external(tmp_path)
    feed = {"x": np.ones((2, 30_000), np.float32)}
    check_same(lambda ort: ort.InferenceSession(path).run(None, feed))
    monkeypatch.chdir(tmp_path)
    check_same(lambda ort: ort.InferenceSession("model.onnx").run(None, feed))
    ours = outcome(lambda: own.InferenceSession(path.read_bytes()))
    assert isinstance(ours.error, STATES.InvalidGraph)  # of a path alone it is known where to look
    assert re.search("'[kb]' is in another file", str(ours.error))
    (tmp_path / "data.bin").unlink()
    check_same_error(lambda ort: ort.InferenceSession(path), text=False)
