"""SCATTER_ND, SPARSE_TO_DENSE, operators of segments, STABLEHLO_SCATTER and ONE_HOT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, check_refused
from tvm_qnn.compare import compare

Q = Quantization.per_tensor(0.5, 3)


def encoding(dtype: str) -> Quantization | None:
    return Q if dtype in ("int8", "uint8") else None


def numbers(sheet: Sheet, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return sheet.rng.random(shape) < 0.5
    if dtype == "float32":
        return sheet.rng.normal(0, 1, shape).astype(np.float32)
    info = np.iinfo(dtype)
    return sheet.rng.integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool", "float32"])
def test_scattered_parts_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=6)
    # Some indices occur twice: values there are added up, and integers wrap.
    for indices, shape in (
        (np.array([[3], [1], [3], [0]]), (5, 4)),
        (np.array([[[0, 1], [2, 2]], [[2, 2], [1, 0]]]), (3, 3, 2)),
        (np.array([[1, 1], [1, 1], [0, 2]]), (2, 3)),
    ):
        parts = (*indices.shape[:-1], *shape[indices.shape[-1] :])
        data = sheet.input(numbers(sheet, parts, dtype), encoding(dtype))
        indices = indices.astype(np.int32)
        for index in (sheet.input(indices), sheet.constant(indices)):
            operands = [index, data, sheet.constant(list(shape))]
            sheet.operator("SCATTER_ND", operands, (shape, dtype, encoding(dtype)))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32"])
def test_dense_tensors_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=7)
    filler = sheet.input(numbers(sheet, (), dtype), encoding(dtype))
    for indices, shape in (
        (np.array([[0, 1], [2, 3], [1, 1]]), (3, 4)),
        (np.array([4, 0, 2], np.int64), (5,)),
    ):
        index = sheet.input(indices.astype(np.int32) if indices.ndim == 2 else indices)
        values = sheet.input(numbers(sheet, (3,), dtype), encoding(dtype))
        operands = [index, sheet.constant(list(shape)), values, filler]
        sheet.operator("SPARSE_TO_DENSE", operands, (shape, dtype, encoding(dtype)))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_segments_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=8)
    data = sheet.input(numbers(sheet, (2, 3, 4), dtype))
    # Sums and products of integers wrap.
    for code in ("MAX", "MIN", "SUM", "PROD"):
        for indices, rest in (
            ([2, 0], (3, 4)),
            ([2, 2], (3, 4)),
            ([[0, 4, 0], [-1, 4, 4]], (4,)),
            (1, (2, 3, 4)),
        ):
            index = sheet.constant(np.array(indices, np.int32))
            operands = [data, index, sheet.constant(np.int32(5))]
            sheet.operator(f"UNSORTED_SEGMENT_{code}", operands, ((5, *rest), dtype, None))
    sheet.check()


def test_tensors_without_elements_equal_litert_s() -> None:
    sheet = Sheet()
    indices, rows = (
        sheet.constant(np.zeros((0, 1), np.int32)),
        sheet.input(np.zeros((0, 3), np.int8), Q),
    )
    sheet.operator("SCATTER_ND", [indices, rows, sheet.constant([2, 3])], ((2, 3), "int8", Q))
    filler = sheet.input(np.array(9, np.int8), Q)
    operands = [sheet.constant(np.zeros((0,), np.int32)), sheet.constant([4]), rows, filler]
    operands[2] = sheet.input(np.zeros((0,), np.int8), Q)
    sheet.operator("SPARSE_TO_DENSE", operands, ((4,), "int8", Q))
    data, ids = sheet.input(np.zeros((0, 3), np.float32)), sheet.constant(np.zeros((0,), np.int32))
    for name in ("MAX", "MIN", "PROD", "SUM"):
        operands = [data, ids, sheet.constant(np.int32(2))]
        sheet.operator(f"UNSORTED_SEGMENT_{name}", operands, ((2, 3), "float32", None))
    sheet.check()


@pytest.mark.parametrize(
    ("indices", "shape", "message"),
    [
        ([[5], [0]], [5, 4], "indices outside of"),
        ([[-1], [0]], [5, 4], "indices outside of"),
        ([[1], [0]], [5, 3], "for parts of"),
        ([[1, 1], [0, 1]], [5, 4], "for parts of"),
        ([[1], [0]], [-5, 4], "for parts of"),
    ],
)
def test_places_must_be_there(indices: list[list[int]], shape: list[int], message: str) -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 4), "int8", Q)
    operands = [sheet.constant(indices), data, sheet.constant(shape)]
    sheet.operator("SCATTER_ND", operands, ((5, 4), "int8", Q))
    sheet.check_refused(message)


def test_segments_must_be_there() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2, 4), np.int32))
    operands = [data, sheet.constant([0, 3]), sheet.constant(np.int32(3))]
    sheet.operator("UNSORTED_SEGMENT_SUM", operands, ((3, 4), "int32", None))
    sheet.check_refused("segments beyond 3")


def test_places_of_a_run_stay_in_memory() -> None:
    sheet = Sheet()
    data = sheet.input(np.full((3, 4), 7, np.int8), Q)
    index = sheet.input(np.array([[2**31 - 1], [-(2**31)], [1]], np.int32))
    operands = [index, data, sheet.constant([3, 4])]
    sheet.operator("SCATTER_ND", operands, ((3, 4), "int8", Q))
    np.testing.assert_array_equal(sheet.run(), np.full((3, 4), 7, np.int8))


def test_sums_of_segments_in_order_equal_litert_s_default_kernel() -> None:
    sheet = Sheet(seed=16)
    for dtype in ("int32", "float32"):
        for shape in ((7, 3, 2), (7,)):
            operands = [sheet.input(numbers(sheet, shape, dtype))]
            operands.append(sheet.constant(np.array([0, 0, 1, 1, 1, 2, 3])))
            sheet.operator("SEGMENT_SUM", operands, ((4, *shape[1:]), dtype, None))
    sheet.check_default()


@pytest.mark.parametrize("indices", [[1, 1], [0, 2], [0, -1], [1, 0], [[0], [0]]])
def test_segments_that_are_not_in_order(indices: list[int]) -> None:
    sheet = Sheet()
    operands = [sheet.input(np.zeros((2, 3), np.int32)), sheet.constant(np.array(indices))]
    sheet.operator("SEGMENT_SUM", operands, ((2, 3), "int32", None))
    sheet.check_refused("must count segments from 0, in order")


def test_segments_of_a_run_s_data() -> None:
    sheet = Sheet()
    operands = [sheet.input(np.zeros(shape, np.int32)) for shape in ((2, 3), (2,))]
    sheet.operator("SEGMENT_SUM", operands, ((2, 3), "int32", None))
    sheet.check_refused("depends on the data of a run")


Array = np.ndarray[Any, Any]
ROWS: dict[str, Any] = {
    "update_window_dims": [1],
    "inserted_window_dims": [0],
    "scatter_dims_to_operand_dims": [0],
    "index_vector_dim": 1,
}
WINDOWS: dict[str, Any] = {
    "update_window_dims": [0, 2],
    "inserted_window_dims": [],
    "scatter_dims_to_operand_dims": [1, 0],
    "index_vector_dim": 0,
}
ONES: dict[str, Any] = {
    "update_window_dims": [],
    "inserted_window_dims": [0, 1],
    "scatter_dims_to_operand_dims": [0, 1],
    "index_vector_dim": 2,
}
# Some indices are named twice, and some lie outside, as a whole or in part.
CASES = [
    (ROWS, [[3], [0], [9], [0]], (4, 5)),
    (WINDOWS, [[0, 3, 7, 1], [1, 2, 0, 1]], (2, 4, 3)),
    (ONES, [[[3, 4], [0, 0]], [[0, 0], [8, 2]]], (2, 2)),
]
CODES = ("", *(f"STABLEHLO_{name}" for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM")))


def scattered(
    data: Array,
    updates: Array,
    indices: Array,
    codes: tuple[str, ...] = ("",),
    *,
    is_constant: bool = False,
    encoding: Quantization | None = None,
    **options: Any,
) -> bytes:
    """Return a model that puts updates once for each code; an empty one has no operator."""
    writer, dtype = ModelWriter(), data.dtype.name
    x = writer.tensor("x", data.shape, dtype, encoding)
    u = writer.tensor("u", updates.shape, dtype, encoding)
    kind = indices.dtype.name
    i = writer.tensor("i", indices.shape, kind, None, indices if is_constant else None)
    results = []
    for code in codes:
        inner = writer.subgraph()
        a, b, c = (inner.tensor(name, (), dtype, encoding) for name in "abc")
        if code:
            inner.operator(code, [a, b], [c])
        inner.end([a, b], [c if code else b])
        results.append(writer.tensor(f"y{code}", data.shape, dtype, encoding))
        number = {"update_computation_subgraph_index": writer.subgraphs, **options}
        writer.operator("STABLEHLO_SCATTER", [x, i, u], results[-1:], **number)
    return writer.finish([x, u] if is_constant else [x, u, i], results)


DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32")


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_equal_litert_s(dtype: str) -> None:
    rng = np.random.default_rng(1)

    def numbers(shape: tuple[int, ...]) -> Array:
        if dtype == "int64":
            return rng.integers(-(2**40), 2**40, shape)
        if dtype == "float32":
            odd = rng.random(shape) < 0.1
            return np.where(odd, np.nan, rng.normal(0, 1, shape)).astype(np.float32)
        return full_range(rng, dtype, shape)

    encoding = Q if dtype in ("int8", "uint8") else None
    # Indices and numbers do not depend on each other: two dtypes for each form of indices.
    for case in range(len(CASES)) if dtype == "int8" else [DTYPES.index(dtype) % len(CASES)]:
        options, indices, shape = CASES[case]
        data, updates, is_constant = numbers((4, 5)), numbers(shape), case == 1
        where = np.array(indices, "int64" if case == 2 else "int32")
        given = {"is_constant": is_constant, "encoding": encoding, **options}
        model = scattered(data, updates, where, CODES, **given)
        arrays = [data, updates] if is_constant else [data, updates, where]
        assert compare(model, arrays, target="llvm", kernels=False).differing == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
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
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    data, updates = np.zeros((4, 5), np.int8), np.zeros((2, 5), np.int8)
    model = scattered(data, updates, np.array([[3], [0]], np.int32), **{**ROWS, **options})
    check_refused(model, message)


def test_data_of_too_many_indices() -> None:
    data = np.broadcast_to(np.int8(0), (1 << 30, 5))
    model = scattered(data, np.zeros((2, 5), np.int8), np.array([[3], [0]], np.int32), **ROWS)
    check_refused(model, "a tensor has 5,368,709,120 elements")


def test_one_operator_of_a_few_combines() -> None:
    data, updates = np.zeros((4, 5), np.int8), np.zeros((2, 5), np.int8)
    indices = np.array([[3], [0]], np.int32)
    check_refused(
        scattered(data, updates, indices, ("BITWISE_XOR",), **ROWS),
        "combines numbers by BITWISE_XOR",
    )


def test_constant_places_are_not_below_0() -> None:
    data, updates = np.zeros((4, 5), np.int8), np.zeros((2, 5), np.int8)
    indices = np.array([[3], [-1]], np.int32)
    check_refused(
        scattered(data, updates, indices, is_constant=True, **ROWS), "has indices below 0"
    )


@pytest.mark.parametrize(
    ("dtypes", "kind", "message"),
    [
        (("bool", "bool"), "int32", "bool in bool"),
        (("int8", "uint8"), "int32", "uint8 in int8"),
        (("int8", "int8"), "int16", "indices of int16"),
    ],
)
def test_types_that_litert_lacks(dtypes: tuple[str, str], kind: str, message: str) -> None:
    data, updates = np.zeros((4, 5), dtypes[0]), np.zeros((2, 5), dtypes[1])
    model = bytearray(scattered(data, data[:2], np.zeros((2, 1), kind), **ROWS))
    if dtypes[0] != dtypes[1]:
        model = bytearray(_of_two_types(data, updates))
    check_refused(bytes(model), message)


def _of_two_types(data: Array, updates: Array) -> bytes:
    writer = ModelWriter()
    x, u = (writer.tensor("x", each.shape, each.dtype.name) for each in (data, updates))
    i, y = writer.tensor("i", (2, 1), "int32"), writer.tensor("y", data.shape, "int8")
    inner = writer.subgraph()
    a, b = (inner.tensor(name, (), "int8") for name in "ab")
    inner.end([a, b], [b])
    writer.operator(
        "STABLEHLO_SCATTER", [x, i, u], [y], update_computation_subgraph_index=1, **ROWS
    )
    return writer.finish([x, u, i], [y])


ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_one_hot_equals_litert() -> None:
    sheet = Sheet(seed=10)
    indices = sheet.input(np.array([[0, 2, 5], [-1, 1, 2]], np.int32))
    on, off = (sheet.constant(np.float32(each)) for each in (2.5, -1.0))
    for axis in (-1, 0, 1, 2):
        operands = [indices, sheet.constant(3), on, off]
        sheet.operator("ONE_HOT", operands, (ANY, "float32", None), axis=axis)
    ends = [sheet.input(np.array(each, np.int32)) for each in (7, 9)]
    sheet.operator("ONE_HOT", [indices, sheet.constant(4), *ends], (ANY, "int32", None), axis=-1)
    sheet.check()


def test_the_depth_must_be_constant() -> None:
    sheet = Sheet()
    indices, depth = (sheet.input(np.array(each, np.int32)) for each in ([1, 2], 3))
    on, off = (sheet.constant(np.float32(each)) for each in (1, 0))
    sheet.operator("ONE_HOT", [indices, depth, on, off], (ANY, "float32", None), axis=-1)
    sheet.check_refused("must be constant")
