from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.errors import fails
from tests.support.tflite import Q
from tests.support.tflite_graphs import Subgraph, model_of
from tvm_qnn import Comparison, build, compare, from_tflite
from tvm_qnn.compare import TensorComparison

ROW, REAL = ((1, 3), "int8", Q), ((1, 3), "float32")
X = np.array([[-100, 0, 100]], np.int8)


def model() -> bytes:
    nodes = [("RELU", "x", "y"), ("DEQUANTIZE", "y", "z")]
    return model_of(Subgraph({"x y": ROW, "z": REAL}, nodes, "x", "z"))


def test_it_shows_what_differs() -> None:
    equal = TensorComparison(1, "y", "RELU", 3, 0, 0.0)
    differing = [TensorComparison(n, f"z{n}", "ADD", 5, 2, 1.0) for n in range(12)]
    said = "tensors equal those of LiteRT's reference kernels"
    assert repr(Comparison((equal,))) == f"Comparison: 1 of 1 {said}"
    lines = repr(Comparison((equal, *differing))).splitlines()
    assert lines[0] == f"Comparison: 1 of 13 {said}"
    assert "name='z0'" in lines[1]
    assert (len(lines), lines[-1]) == (12, "  and 2 more")
    html = Comparison((equal, *differing))._repr_html_()
    row = "<td>z11</td><td>ADD</td><td>5</td><td>2</td><td>1.0</td>"
    assert (html.count("<tr>"), row in html) == (13, True)


@pytest.mark.parametrize("kernels", [False, True])
def test_a_model_that_is_equal(kernels: bool, tmp_path: Any) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(model())
    for form in (model(), path):
        comparison = compare(form, [X], "llvm", kernels)
        assert comparison.is_equal
        assert comparison.differing == ()
        assert comparison.elements == 6
        assert [(t.index, t.name, t.operator) for t in comparison.tensors] == [
            (1, "y", "RELU"),
            (2, "z", "DEQUANTIZE"),
        ]
        assert [(t.name, t.elements) for t in comparison.outputs] == [("z", 3)]


def test_a_library_that_is_built_for_use_may_differ_by_itself() -> None:
    other = np.array([[5, 3, 100]], np.int8)
    main = Subgraph({"x": ROW, "z": REAL}, [("DEQUANTIZE", "x", "z")], "x", "z")
    used = build(*from_tflite(model_of(main))[:1], "llvm")
    comparison = compare(model(), [other - 10], "llvm", used=used)
    assert not comparison.is_equal
    assert [tensor.differing for tensor in comparison.tensors] == [0, 0]
    assert [tensor.differing for tensor in comparison.outputs] == [2]
    assert "2 of 2 tensors" in repr(comparison)
    assert "0 of 1 outputs when built for use" in repr(comparison)


def test_other_shapes_than_the_file_s() -> None:
    rows = np.repeat(X, 4, axis=0)
    comparison = compare(model(), [rows], "llvm", shape_dict={"x": rows.shape})
    assert comparison.is_equal
    assert comparison.elements == 24
    fails("int8", compare, model(), [X.astype(np.uint8)], "llvm")


def _with_oracle(monkeypatch: pytest.MonkeyPatch, **changes: np.ndarray[Any, Any]) -> Any:
    right = {1: np.array([[3, 3, 100]], np.int8), 2: np.array([[0, 0, 48.5]], np.float32)}
    wrong = {**right, **{int(name[1:]): array for name, array in changes.items()}}
    monkeypatch.setattr("tvm_qnn.oracle.litert_runs", lambda *_, **__: iter([wrong]))
    return compare(model(), [X], "llvm")


def test_elements_that_differ_or_are_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = _with_oracle(monkeypatch, t1=np.array([[-3, 3, 99]], np.int8))
    (tensor,) = comparison.differing
    assert not comparison.is_equal
    assert (tensor.name, tensor.elements, tensor.differing, tensor.worst) == ("y", 3, 2, 6.0)
    comparison = _with_oracle(monkeypatch, t2=np.array([[0, np.nan, 48.5]], np.float32))
    (tensor,) = comparison.tensors[1:]
    assert (tensor.differing, tensor.worst) == (1, np.inf)
    assert comparison.differing == (tensor, *comparison.outputs)


@pytest.mark.parametrize("other", [np.zeros((3,), np.int8), np.zeros((1, 3), np.uint8)])
def test_a_shape_or_dtype_that_differs(
    monkeypatch: pytest.MonkeyPatch, other: np.ndarray[Any, Any]
) -> None:
    (tensor,) = _with_oracle(monkeypatch, t1=other).differing
    assert (tensor.name, tensor.differing, tensor.worst) == ("y", 3, np.inf)
    assert tensor.mismatch in ("shape (1, 3) here, (3,) there", "dtype int8 here, uint8 there")


def test_runs_are_taken_one_by_one_and_counted_together() -> None:
    taken = []

    def later() -> Iterator[list[np.ndarray[Any, Any]]]:
        for number in range(3):
            taken.append(number)
            yield [X + np.int8(number)]

    runs = later()
    comparison = compare(model(), [X], "llvm", then=runs)
    assert comparison.is_equal
    assert (comparison.runs, taken) == (4, [0, 1, 2])
    assert [(t.name, t.elements) for t in comparison.tensors] == [("y", 12), ("z", 12)]
