"""Models with open sizes, against LiteRT with its inputs resized."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from qnn_ops.dialect.signature import bounds_of, signature_of
from qnn_ops.errors import QnnError
from tests.support.tflite import Sheet
from tvm_qnn import build

Q = Quantization.per_tensor(0.5, 3)
PLAIN = Quantization.per_tensor(1 / 256, -128)
RUNS = tuple({"b": b, "n": n} for b, n in ((1, 1), (2, 7), (3, 4), (5, 2), (4, 16)))
ANY = (1,)  # LiteRT works shapes out by itself
NUMBER, VECTOR = ((), "int32", None), (ANY, "int32", None)


def sizes(sheet: Sheet, data: int, rank: int) -> list[int]:
    """Return the sizes of a tensor, each a scalar, as Keras takes them apart."""
    shape = sheet.inside(
        sheet.operator("SHAPE", [data], ((rank,), "int32", None), out_type="int32")
    )
    bounds = [[sheet.constant([each]) for each in (i, i + 1, 1)] for i in range(rank)]
    return [
        sheet.inside(sheet.operator("STRIDED_SLICE", [shape, *each], NUMBER, shrink_axis_mask=1))
        for each in bounds
    ]


def absolute(shape: tuple[int, ...]) -> bytes:
    sheet = Sheet()
    sheet.operator("ABS", [sheet.random_input(shape, "int8", Q)], (shape, "int8", Q))
    return sheet.model()


def packed(sheet: Sheet, *values: int) -> int:
    return sheet.inside(
        sheet.operator("PACK", list(values), VECTOR, values_count=len(values), axis=0)
    )


def test_attention_of_any_length_equals_litert() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 6, 8), "int8", Q)
    batch, length, width = sizes(sheet, data, 3)
    # As TensorFlow lowers einsum: free sizes, multiplied by segments of a vector.
    outer = packed(sheet, batch, length)
    segments, one = sheet.constant([0, 0]), sheet.constant(1)
    rows = sheet.inside(sheet.operator("UNSORTED_SEGMENT_PROD", [outer, segments, one], VECTOR))
    last = sheet.inside(sheet.operator("RESHAPE", [width, sheet.constant([1])], VECTOR))
    flat_shape = sheet.inside(sheet.operator("CONCATENATION", [rows, last], VECTOR, axis=0))
    flat = sheet.operator("RESHAPE", [data, flat_shape], (ANY, "int8", Q))
    weights = sheet.constant(np.arange(-32, 32, dtype=np.int8).reshape(8, 8), Q_WEIGHTS)
    dense = sheet.operator("FULLY_CONNECTED", [flat, weights, -1], (ANY, "int8", Q_SUMS))
    two, four = sheet.constant(2), sheet.constant(4)
    apart = packed(sheet, batch, length, two, four)
    split = sheet.operator("RESHAPE", [dense, apart], (ANY, "int8", Q_SUMS))
    order = sheet.constant([0, 2, 1, 3])
    heads = sheet.operator("TRANSPOSE", [split, order], ((2, 2, 6, 4), "int8", Q_SUMS))
    scores = sheet.operator("BATCH_MATMUL", [heads, heads], (ANY, "int8", Q_SCORES), adj_y=True)
    chances = sheet.operator("SOFTMAX", [scores], (ANY, "int8", PLAIN), beta=1.0)
    sheet.operator("BATCH_MATMUL", [chances, heads], (ANY, "int8", Q_SUMS))
    library = sheet.check_open([("b", "n", 8)], *RUNS)
    assert [str(each.shape) for each in library.outputs[:2]] == ["(b * n, 8)", "(b * n, 8)"]


Q_WEIGHTS = Quantization.per_tensor(0.05, 0)
Q_SUMS = Quantization.per_tensor(2.0, 0)
Q_SCORES = Quantization.per_tensor(20.0, 0)


def test_operators_on_shapes_equal_litert() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 6, 3), "int8", Q)
    batch, length, _ = sizes(sheet, data, 3)
    one, two = sheet.constant(1), sheet.constant(2)
    sheet.operator("SUB", [sheet.operator("MUL", [length, two], NUMBER), batch], NUMBER)
    more = sheet.operator("ADD", [length, one], NUMBER)
    sheet.operator("CAST", [more], ((), "float32", None))
    sheet.operator("RANGE", [sheet.constant(0), more, one], VECTOR)
    sheet.operator("RANGE", [sheet.constant(0), more, two], VECTOR)
    shape = packed(sheet, batch, more)
    sheet.operator("FILL", [shape, sheet.constant(7)], VECTOR)
    sheet.operator("REDUCE_PROD", [shape, sheet.constant([0])], NUMBER, keep_dims=False)
    sheet.operator("GATHER", [shape, sheet.constant([1, 0])], VECTOR, axis=0)
    sheet.operator("EXPAND_DIMS", [more, sheet.constant(0)], VECTOR)
    row = sheet.constant(np.arange(1, 4, dtype=np.int8).reshape(1, 1, 3), Q)
    wide = packed(sheet, batch, length, sheet.constant(3))
    sheet.operator("BROADCAST_TO", [row, wide], (ANY, "int8", Q))
    sheet.operator("TILE", [row, packed(sheet, length, one, two)], (ANY, "int8", Q))
    bounds = sheet.constant([0, -1, 0]), sheet.constant([0, 0, 2]), sheet.constant([1, 1, 1])
    masks = {"begin_mask": 1, "end_mask": 3}
    sheet.operator("STRIDED_SLICE", [data, *bounds], (ANY, "int8", Q), **masks)
    back = sheet.constant([0, 0, 0]), sheet.constant([0, 0, 0]), sheet.constant([1, -1, 1])
    sheet.operator("STRIDED_SLICE", [data, *back], (ANY, "int8", Q), begin_mask=7, end_mask=7)
    sheet.operator("LESS", [length, sheet.constant(5)], ((), "bool", None))
    sheet.operator("EQUAL", [batch, two], ((), "bool", None))
    sheet.operator("MAXIMUM", [batch, length], NUMBER)
    for kernels in (False, True):
        sheet.check_open([("b", "n", 3)], *RUNS, kernels=kernels)


def test_quotients_and_extremes_of_shapes_are_shapes() -> None:
    sheet, same = Sheet(), [1, 1, 1, 1]
    data = sheet.random_input((2, 4, 6, 3), "int8", Q)
    shape = sheet.operator("SHAPE", [data], ((4,), "int32", None), out_type="int32")
    larger = sheet.operator("ADD", [shape, sheet.constant([0, 1, 1, 1])], VECTOR)
    wider = sheet.operator("MUL", [shape, sheet.constant([6, 1, 1, 1])], VECTOR)
    for code, operands in (
        ("MAXIMUM", [shape, sheet.constant(same)]),
        ("MINIMUM", [larger, shape]),
        ("DIV", [shape, sheet.constant(same)]),
        ("DIV", [wider, sheet.constant([2, 1, 1, 3])]),
    ):
        sizes_of_data = sheet.operator(code, operands, VECTOR)
        sheet.operator("RESHAPE", [data, sizes_of_data], (ANY, "int8", Q))
    sheet.check_open([("n", 4, 6, 3)], {"n": 1}, {"n": 5})


def test_sizes_count_where_they_are_known() -> None:
    for addend, is_certain in (([2, -3], True), ([-2, -2], False)):
        sheet = Sheet()
        data = sheet.random_input((2, 3), "int8", Q)
        shape = sheet.operator("SHAPE", [data], ((2,), "int32", None), out_type="int32")
        rest = sheet.operator("ADD", [shape, sheet.constant(addend)], VECTOR)
        sheet.operator("WHERE", [rest], (ANY, "int64", None))
        if is_certain:
            sheet.check_open([("n", 3)], {"n": 1}, {"n": 2})
            continue
        with pytest.raises(QnnError, match="WHERE: the shape of its result depends on the data"):
            sheet.check_open([("n", 3)])
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    wide = sheet.operator("SHAPE", [data], ((2,), "int32", None), out_type="int32")
    for _ in range(2):
        wide = sheet.operator("MUL", [wide, sheet.constant([65536, 65536])], VECTOR)
    bounds = [sheet.constant([each]) for each in (1, 2, 1)]
    sheet.operator("STRIDED_SLICE", [wide, *bounds], VECTOR)
    sheet.check_open([("n", 3)], {"n": 1}, {"n": 2})


def test_a_table_has_as_many_rows_as_a_size_may_have() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 6, 3), "int8", Q)
    _, length, _ = sizes(sheet, data, 3)
    table = sheet.constant(np.arange(48, dtype=np.int8).reshape(16, 3), Q)
    begin, count = sheet.constant([0, 0]), packed(sheet, length, sheet.constant(3))
    rows = sheet.operator("STRIDED_SLICE", [table, begin, count, sheet.constant([1, 1])], ROWS)
    sheet.operator("ADD", [data, rows], (ANY, "int8", Q))
    sheet.check_open([("b", "n", 3)], *RUNS, n=range(1, 17))
    with pytest.raises(QnnError, match=r"STRIDED_SLICE .*: the size n is open, where it must be"):
        sheet.check_open([("b", "n", 3)])


ROWS = (ANY, "int8", Q)


@pytest.mark.parametrize(
    ("shapes", "shape", "bounds"),
    [
        ({"x1": ("batch", 6, 6, 2)}, "(batch, 6, 6, 2)", {"batch": (1, None)}),
        ({"x1": (range(2, 9), 6, 6, 2)}, "(x1_0, 6, 6, 2)", {"x1_0": (2, 8)}),
        ({"x1": ("n", 6, 6, 2), "n": range(1, 5)}, "(n, 6, 6, 2)", {"n": (1, 4)}),
        ({"x1": ("n", 6, 6, 2), "n": 3}, "(3, 6, 6, 2)", {}),
        ({"x1": (3, 6, 6, 2)}, "(3, 6, 6, 2)", {}),
    ],
)
def test_names_ranges_and_numbers(shapes: Any, shape: str, bounds: Any) -> None:
    model = absolute((1, 6, 6, 2))
    mod, params = from_tflite(model, shapes)
    assert str(signature_of(mod).inputs[0].shape) == shape
    assert bounds_of(mod["main"]) == bounds
    images = np.random.default_rng(0).integers(-128, 128, (3, 6, 6, 2)).astype(np.int8)
    fixed = build(*_fixed(model, images.shape)).run(images)
    np.testing.assert_array_equal(build(mod, "llvm", params).run(images), fixed)


def _fixed(model: bytes, shape: tuple[int, ...]) -> Any:
    mod, params = from_tflite(model, {"x1": shape})
    return mod, "llvm", params


def test_what_a_file_leaves_open_stays_open() -> None:
    graph = read_model(absolute((1, 1, 4)))
    for signature, shape in (
        ((-1, 1, 4), (1, 1, 4)),
        ((-1, -1, 4), ("batch", "x1_1", 4)),
        ((1, -1, 4), (1, "x1_1", 4)),
    ):
        first = replace(graph.tensors[0], shape_signature=signature)
        mod, params = from_tflite(replace(graph, tensors=(first, *graph.tensors[1:])))
        assert [str(each) for each in signature_of(mod).inputs[0].shape] == [*map(str, shape)]
        data = np.full([size if isinstance(size, int) else 3 for size in shape], -7, np.int8)
        assert build(mod, "llvm", params).run(data).size == prod(data.shape)


def test_rows_that_are_quantized_by_themselves_equal_litert() -> None:
    sheet = Sheet()
    data = sheet.input(np.ones((2, 3, 8), np.float32))
    weights = sheet.constant(np.arange(-32, 32, dtype=np.int8).reshape(8, 8), Q_WEIGHTS)
    result = (ANY, "float32", None)
    sheet.operator("FULLY_CONNECTED", [data, weights, -1], result, keep_num_dims=True)
    sheet.check_open([("b", "n", 8)], *RUNS)
