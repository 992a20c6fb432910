from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError
from tests.frontends.tflite.converters.test_variables import ring
from tests.support.errors import fails
from tests.support.tflite import library_of, one, x
from tvm_qnn import digits
from tvm_qnn.library.library import Library
from tvm_qnn.serving import Served
from tvm_qnn.serving.served import independent_rows, run_rows
from tvm_qnn.serving.tensors import datatype_of

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@pytest.fixture(scope="module")
def served() -> Served:
    return Served(library_of(digits.model("int8"), "host", num_threads=1))


def tensor(name: str, array: Any) -> Any:
    return SimpleNamespace(
        name=name,
        datatype=datatype_of(str(array.dtype)),
        shape=[*array.shape],
        data=array.ravel().tolist(),
    )


def request(outputs: Any = None, **parameters: Any) -> Any:
    return SimpleNamespace(outputs=outputs, parameters=SimpleNamespace(**parameters))


def wanted(name: str, **parameters: Any) -> Any:
    return SimpleNamespace(name=name, parameters=SimpleNamespace(**parameters))


def pictures(count: int) -> np.ndarray:
    return digits.held_out()[0][:count]


def test_reals_and_integers_have_the_same_answer(served: Served) -> None:
    picture = pictures(1)
    (x,), (y,) = served.library.inputs, served.library.outputs
    integers = digits.to_input(picture, "int8")
    floats = (picture / digits.INK).astype(np.float32).reshape(x.shape)
    (wish,) = served.wishes_of(request())
    expected = served.library.run(integers)
    for array in (integers, floats, floats.astype(np.float64)):
        found = served.run(served.inputs_of([tensor(x.name, array)]))
        fields = served.answer(wish, found[y.name])
        assert fields["datatype"] == "INT8"
        assert fields["data"] == expected.ravel().tolist()
    (wish,) = served.wishes_of(request(dequantize_outputs=True))
    fields = served.answer(wish, expected)
    assert fields["datatype"] == "FP32"
    expected = served.library.run(integers, dequantize_outputs=True)
    assert fields["data"] == expected.ravel().tolist()


@pytest.mark.parametrize("value", ["false", 1, 0.5, [True]])
def test_whether_outputs_are_reals_is_true_or_false(served: Served, value: Any) -> None:
    with pytest.raises(QnnError, match=r"dequantize_outputs is true or false, got"):
        served.wishes_of(request(dequantize_outputs=value))


def test_the_best_classes_have_names(served: Served) -> None:
    (y,) = served.library.outputs
    picture = digits.to_input(pictures(1), "int8")
    found = served.library.run(picture)
    (wish,) = served.wishes_of(request([wanted(y.name, classification=2)]))
    assert served.answer(wish, found)["shape"] == [1, 2]
    first, _ = served.answer(wish, found)["data"]
    score, number = first.split(":")
    assert int(number) == found.argmax()
    assert float(score) == served.library.run(picture, dequantize_outputs=True).max()
    served.name_classes(NAMES, "here")
    named, _ = served.answer(wish, found)["data"]
    assert named == f"{first}:{NAMES[int(number)]}"
    fails("here names 9 classes, but the model has 10", served.name_classes, NAMES[:9], "here")


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([], "missing input"),
        ([("nobody", np.zeros((1, 8, 8, 1), np.int8))], "no input is named 'nobody'; there are"),
        ([("", np.zeros((1, 8, 8, 1), np.int8))] * 2, "is given twice"),
        ([("", np.zeros((1, 8, 8), np.int8))], r"takes int8 of shape \(1, 8, 8, 1\)"),
        ([("", np.zeros((2, 8, 8, 1), np.int8))], r"got int8 of shape \(2, 8, 8, 1\)"),
        ([("", np.zeros((1, 8, 8, 1), np.uint8))], "got uint8"),
        ([("", np.full((1, 8, 8, 1), np.nan, np.float32))], "has NaN"),
    ],
)
def test_wrong_inputs_are_one_error(
    served: Served, tensors: list[tuple[str, np.ndarray]], message: str
) -> None:
    own = served.library.inputs[0].name
    fails(message, served.inputs_of, [tensor(name or own, array) for name, array in tensors])


def test_wrong_wishes_and_models_with_a_state_are_one_error(served: Served) -> None:
    own = served.library.outputs[0].name
    for outputs, message in [
        ([wanted("nobody")], "no output is named 'nobody'; there are"),
        ([wanted(own), wanted(own)], "is wanted twice"),
        ([wanted(own, classification="two")], "classification is a number, got 'two'"),
        ([wanted(own, classification=-1)], "got -1"),
    ]:
        fails(message, served.wishes_of, request(outputs))
    fails("keeps a state from one run to the next", Served, library_of(ring(), "host"))


def test_rows() -> None:
    served = Served(compiled("RELU"), batching=True)
    (description,) = served.described(served.library.inputs)
    assert description["shape"] == [-1, 4]
    assert description["parameters"] == {"scale": 0.5, "zero_point": 0}
    array = np.random.default_rng(0).integers(-128, 128, (ROWS + 1, 4)).astype(np.int8)
    arrays = served.inputs_of([tensor("x1", array)])
    (wish,) = served.wishes_of(request())
    fields = served.answer(wish, served.run(arrays)["y2"])
    assert fields["shape"] == [ROWS + 1, 4]
    assert fields["data"] == np.maximum(array, 0).ravel().tolist()
    (wish,) = served.wishes_of(request([wanted("y2", classification=1)]))
    fields = served.answer(wish, np.array([[1, 2, 3, 4], [4, 3, 2, 1]], np.int8))
    assert (fields["shape"], fields["data"]) == ([2, 1], ["2.0:3", "2.0:0"])
    with pytest.raises(QnnError, match="the same number of rows, at least one"):
        served.inputs_of([tensor("x1", np.zeros((0, 4), np.int8))])
    with pytest.raises(QnnError, match=r"takes int8 of shape \(2, 4\), got int8 of shape \(2, 5\)"):
        served.inputs_of([tensor("x1", np.zeros((2, 5), np.int8))])


ROWS = 4


def compiled(operator: str) -> Library:
    """Return a model of four rows, or one that mixes its rows."""
    order = [[1, 0]] if operator == "TRANSPOSE" else []
    data = x(ROWS, 4, encoding=Quantization.per_tensor(0.5, 0))
    return library_of(one(operator, data, *order).model(), "host", num_threads=1)


@pytest.mark.parametrize("count", [1, ROWS, 2 * ROWS + 1])
def test_any_number_of_rows(count: int) -> None:
    library = compiled("RELU")
    assert independent_rows(library) == ROWS
    array = np.random.default_rng(count).integers(-128, 128, (count, 4)).astype(np.int8)
    np.testing.assert_array_equal(run_rows(library, ROWS, [array])["y2"], np.maximum(array, 0))


def test_models_without_a_batch_of_independent_rows_are_refused() -> None:
    with pytest.raises(QnnError, match="output 'y3' of one row changes with another row"):
        independent_rows(compiled("TRANSPOSE"))
    with pytest.raises(QnnError, match=r"of at least 2, got .*8×8.*: compile it for a batch"):
        independent_rows(library_of(digits.model("int8"), "host"))
