from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.errors import failing, fails
from tvm_qnn.serving.tensors import datatype_of, read_tensor, tensor_fields


def tensor(data: Any, datatype: str = "INT8", shape: tuple[int, ...] = (2, 2)) -> Any:
    return SimpleNamespace(name="x", datatype=datatype, shape=[*shape], data=data)


@pytest.mark.parametrize(
    ("data", "datatype", "expected"),
    [
        ([1, -2, 3, 127], "INT8", np.array([[1, -2], [3, 127]], np.int8)),
        ([[1, 2], [3, 255]], "UINT8", np.array([[1, 2], [3, 255]], np.uint8)),
        ([1, 2.5, -3, 1e300], "FP32", np.array([[1, 2.5], [-3, np.inf]], np.float32)),
        ([1, 2.5, -3, 4], "FP16", np.array([[1, 2.5], [-3, 4]], np.float16)),
        ([True, False, False, True], "BOOL", np.array([[True, False], [False, True]], np.bool_)),
        ([2**62 + 1, 0, -1, 2], "INT64", np.array([[2**62 + 1, 0], [-1, 2]], np.int64)),
    ],
)
def test_data_are_flat_or_rows(data: Any, datatype: str, expected: np.ndarray) -> None:
    found = read_tensor(tensor(data, datatype))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


test_what_does_not_fit_is_one_error = failing(
    lambda data, datatype, shape: read_tensor(tensor(data, datatype, shape)),
    ([1, 2, 3], "INT8", (2, 2), r"'x' has shape \[2, 2\], but 3 numbers"),
    ([1, 2, 3, 4], "INT8", (-2, -2), r"shape \[-2, -2\]"),
    ([1, 2, 3, 4], "INT8", (1 << 62, 4), "but 4 numbers"),
    ([[1, 2, 3, 4]], "INT8", (2, 2), r"its data have \[1, 4\]"),
    ([[1, 2], [3]], "INT8", (2, 2), "no array of numbers"),
    ([1, 2, 3, 128], "INT8", (2, 2), "is INT8, but has numbers from 1 to 128"),
    ([1, 2, 3, -1], "UINT8", (2, 2), "is UINT8, but has numbers from -1 to 3"),
    ([1, 2, 3, 4.5], "INT8", (2, 2), "is INT8, but has data that are none"),
    ([1, 2, 3, True], "BOOL", (2, 2), "is BOOL, but has data that are none"),
    ([1, 2, 3, None], "FP32", (2, 2), "null"),
    (["1", "2", "3", "4"], "FP32", (2, 2), "a text"),
    ([1.0, 2.0, 3.0, float("nan")], "FP32", (2, 2), "'x' has NaN"),
    ([b"a"], "BYTES", (1,), "has datatype BYTES, which is none of BOOL, UINT8"),
    ([1], "WRONG", (1,), "has datatype WRONG"),
    (7, "INT8", (1,), "no array of numbers"),
    ({"a": 1}, "INT8", (1,), "has data that are none"),
)


def test_texts_are_bytes_and_deep_data_an_error() -> None:
    data: Any = [1]
    for _ in range(900):
        data = [data]
    fails("'x'", read_tensor, tensor(data, "INT8", (1,)))
    fields = tensor_fields("y", np.array([["1.0:2:cat"]]))
    assert fields == {"name": "y", "shape": [1, 1], "datatype": "BYTES", "data": ["1.0:2:cat"]}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "bool"])
def test_what_is_written_is_read_again(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    fields = tensor_fields("y", array)
    assert fields["datatype"] == datatype_of(dtype)
    np.testing.assert_array_equal(read_tensor(SimpleNamespace(**fields)), array)
