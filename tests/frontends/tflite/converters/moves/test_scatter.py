"""SCATTER_ND, SPARSE_TO_DENSE, operators of segments, STABLEHLO_SCATTER and ONE_HOT."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.writer import ModelWriter
from tests.differential.graphs import QUANTIZED
from tests.differential.single import single
from tests.support.errors import failing
from tests.support.steps import compiled
from tests.support.tflite import ANY, Q, Sheet, check_refused, fixed, given, one, refused, x
from tests.support.tflite_graphs import Subgraph, combining, model_of
from tvm_qnn.compare import compare

ON, OFF = fixed(2.5, "float32"), fixed(-1.0, "float32")


test_scattered_parts_equal_litert = compiled(
    single("SCATTER_ND"), dtypes=("int8", "uint8", "int32", "bool", "float32"), count=6
)
test_scattered_slices_equal_litert = compiled(
    single("STABLEHLO_SCATTER"), dtypes=(*QUANTIZED, "int32", "int64"), count=10
)
test_segments_equal_litert = compiled(
    single(*(f"UNSORTED_SEGMENT_{name}" for name in ("MAX", "MIN", "PROD", "SUM"))),
    dtypes=("int32", "float32"),
    count=12,
)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32"])
def test_dense_tensors_equal_litert(dtype: str) -> None:
    sheet, filler = Sheet(seed=7), x(dtype=dtype)
    result = (ANY, *filler.kind[1:])
    pairs = given([[0, 1], [2, 3], [1, 1]], "int32")
    sheet.add("SPARSE_TO_DENSE", pairs, [3, 4], x(3, dtype=dtype), filler, gives=result)
    places = given([4, 0, 2], "int64")
    sheet.add("SPARSE_TO_DENSE", places, [5], x(3, dtype=dtype), filler, gives=result)
    sheet.check()


def test_tensors_without_elements_one_hot_and_segments_in_order() -> None:
    sheet, none = Sheet(), np.zeros(0)
    sheet.add("SCATTER_ND", none.reshape(0, 1), x(0, 3), [2, 3])
    sheet.add("SPARSE_TO_DENSE", none, [4], x(0), given(9, "int8", Q))
    data = x(0, 3, dtype="float32")
    for name in ("MAX", "MIN", "PROD", "SUM"):
        sheet.add(f"UNSORTED_SEGMENT_{name}", data, none, 2)
    sheet.check()
    sheet, indices = Sheet(seed=10), given([[0, 2, 5], [-1, 1, 2]], "int32")
    for axis in (-1, 0, 1, 2):
        sheet.add("ONE_HOT", indices, 3, ON, OFF, gives="float32", axis=axis)
    sheet.add("ONE_HOT", indices, 4, given(7, "int32"), given(9, "int32"), axis=-1)
    sheet.check()
    sheet = Sheet(seed=16)
    for dtype in ("int32", "float32"):
        for shape in ((7, 3, 2), (7,)):
            sheet.add("SEGMENT_SUM", x(*shape, dtype=dtype), [0, 0, 1, 1, 1, 2, 3])
    sheet.check_default()


_NUMBERS = x(2, 3, dtype="int32")

test_places_must_be_there = refused(
    (r"has indices outside of \(5,\)", one("SCATTER_ND", [[5], [0]], x(2, 4), [5, 4])),
    (r"has indices outside of \(5,\)", one("SCATTER_ND", [[-1], [0]], x(2, 4), [5, 4])),
    ("for parts of", one("SCATTER_ND", [[1], [0]], x(2, 4), [5, 3])),
    ("for parts of", one("SCATTER_ND", [[1, 1], [0, 1]], x(2, 4), [5, 4])),
    ("for parts of", one("SCATTER_ND", [[1], [0]], x(2, 4), [-5, 4])),
    ("has segments beyond 3", one("UNSORTED_SEGMENT_SUM", _NUMBERS, [0, 3], 3)),
    *(
        ("must count segments from 0, in order", one("SEGMENT_SUM", _NUMBERS, indices))
        for indices in ([1, 1], [0, 2], [0, -1], [1, 0], [[0], [0]])
    ),
    ("depends on the data of a run", one("SEGMENT_SUM", _NUMBERS, x(2, dtype="int32"))),
    (
        r"indices of \(2, 0\) for values of \(2,\) in \(\)",
        one("SPARSE_TO_DENSE", np.zeros((2, 0)), np.zeros(0), x(2), x(), gives=((), "int8", Q)),
    ),
    ("input 2 is missing", one("STABLEHLO_SCATTER", _NUMBERS, _NUMBERS)),
    (
        "must be constant",
        one(
            "ONE_HOT", given([1, 2], "int32"), given(3, "int32"), ON, OFF, gives="float32", axis=-1
        ),
    ),
)


def test_places_of_a_run_stay_in_memory() -> None:
    index = given([[2**31 - 1], [-(2**31)], [1]], "int32")
    data = given(np.full((3, 4), 7), "int8", Q)
    result = one("SCATTER_ND", index, data, [3, 4], gives=((3, 4), "int8", Q)).run()
    np.testing.assert_array_equal(result, np.full((3, 4), 7, np.int8))


ROWS: dict[str, Any] = {
    "update_window_dims": [1],
    "inserted_window_dims": [0],
    "scatter_dims_to_operand_dims": [0],
    "index_vector_dim": 1,
}
CODES = ("", *(f"STABLEHLO_{name}" for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")))


def scattered(
    data: np.ndarray,
    updates: np.ndarray,
    indices: np.ndarray,
    codes: tuple[str, ...] = ("",),
    *,
    is_constant: bool = False,
    **options: Any,
) -> bytes:
    """Return a model that puts updates once for each code; an empty one has no operator."""
    writer, dtype = ModelWriter(), data.dtype.name
    d = writer.tensor("x", data.shape, dtype)
    u = writer.tensor("u", updates.shape, dtype)
    kind = indices.dtype.name
    i = writer.tensor("i", indices.shape, kind, None, indices if is_constant else None)
    results = []
    for code in codes:
        results.append(writer.tensor(f"y{code}", data.shape, dtype))
        inner = combining(code, dtype).add_to(writer)
        number = {"update_computation_subgraph_index": inner, **options}
        writer.operator("STABLEHLO_SCATTER", [d, i, u], results[-1:], **number)
    return writer.finish([d, u] if is_constant else [d, u, i], results)


def test_what_is_no_number_is_combined_as_in_litert() -> None:
    rng = np.random.default_rng(1)
    data, updates = (
        np.where(rng.random(shape) < 0.1, np.nan, rng.normal(0, 1, shape)).astype(np.float32)
        for shape in ((4, 5), (4, 5))
    )
    where = np.array([[3], [0], [9], [0]], np.int32)
    model = scattered(data, updates, where, CODES, **ROWS)
    assert compare(model, [data, updates, where], target="llvm", kernels=False).differing == ()


def _rows(
    dtype: str = "int8",
    kind: str = "int32",
    codes: tuple[str, ...] = ("",),
    first: int = 3,
    *,
    is_constant: bool = False,
    **options: Any,
) -> bytes:
    """Return a model that puts two rows."""
    data, updates = np.zeros((4, 5), dtype), np.zeros((2, 5), dtype)
    indices = np.array([[first], [0]], kind)
    return scattered(data, updates, indices, codes, is_constant=is_constant, **{**ROWS, **options})


test_what_is_refused = failing(
    lambda options: from_tflite(_rows(**options)),
    ({"update_window_dims": [2]}, "update_window_dims must be axes of 2, each once"),
    ({"update_window_dims": [1, 0]}, "update_window_dims must be axes of 2, each once"),
    ({"update_window_dims": []}, r"updates of \(2, 5\) at indices of \(2, 1\) in \(4, 5\)"),
    ({"update_window_dims": [0]}, r"updates of \(2, 5\) at indices of \(2, 1\) in \(4, 5\)"),
    ({"inserted_window_dims": [-1]}, "inserted_window_dims must be axes of 2, each once"),
    ({"scatter_dims_to_operand_dims": [2**40]}, "scatter_dims_to_operand_dims must be axes"),
    ({"scatter_dims_to_operand_dims": [0, 1]}, "index_vector_dim 1, for 2 numbers, of indices"),
    ({"index_vector_dim": 7}, "index_vector_dim 7, for 1 numbers, of indices of"),
    ({"update_computation_subgraph_index": 9}, "runs subgraph 9, there are 1 others"),
    ({"update_computation_subgraph_index": -1}, "runs subgraph -1, there are 1 others"),
    ({"codes": ("BITWISE_XOR",)}, "combines numbers by BITWISE_XOR"),
    ({"first": -1, "is_constant": True}, "tensor 2 'i' has indices below 0"),
    ({"dtype": "bool"}, "bool in bool"),
    ({"kind": "int16"}, "indices of int16"),
)


def test_the_largest_index_is_outside() -> None:
    model = _rows(kind="int64", first=2**63 - 1, is_constant=True)
    arrays = [np.zeros((4, 5), np.int8), np.ones((2, 5), np.int8)]
    assert compare(model, arrays, target="llvm", kernels=False).differing == ()


def test_data_that_do_not_fit_are_refused() -> None:
    data = np.broadcast_to(np.int8(0), (1 << 30, 5))
    model = scattered(data, np.zeros((2, 5), np.int8), np.array([[3], [0]], np.int32), **ROWS)
    check_refused(model, "a tensor has 5,368,709,120 elements")
    tensors = {"x y": ((4, 5), "int8"), "u": ((2, 5), "uint8"), "i": ((2, 1), "int32")}
    number = {"update_computation_subgraph_index": 1, **ROWS}
    main = Subgraph(tensors, [("STABLEHLO_SCATTER", "x i u", "y", number)], "x u i", "y")
    check_refused(model_of(main, combining("", "int8")), "uint8 in int8")
