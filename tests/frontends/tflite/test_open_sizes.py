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
from tests.support.tflite import ANY, Operand, Q, Sheet, fixed, given, library_of, one, x
from tvm_qnn import build

PLAIN = (ANY, "int8", Quantization.per_tensor(1 / 256, -128))
SUMS, SCORES = ((ANY, "int8", Quantization.per_tensor(scale, 0)) for scale in (2.0, 20.0))
WEIGHTS = fixed(np.arange(-32, 32).reshape(8, 8), "int8", Quantization.per_tensor(0.05, 0))
RUNS = tuple({"b": b, "n": n} for b, n in ((1, 1), (2, 7), (3, 4), (5, 2), (4, 16)))
NUMBER = ((), "int32", None)


def shape_of(sheet: Sheet, data: Operand) -> Operand:
    result: Operand = sheet.made("SHAPE", data, gives="int32", out_type="int32")
    return result


def sizes(sheet: Sheet, data: Operand) -> list[Operand]:
    """Return the sizes of a tensor, each a scalar, as Keras takes them apart."""
    shape = sheet.inside(shape_of(sheet, data))
    parts = [([i], [i + 1], [1]) for i in range(len(data.kind[0]))]
    options = {"gives": NUMBER, "shrink_axis_mask": 1}
    return [sheet.inside(sheet.made("STRIDED_SLICE", shape, *part, **options)) for part in parts]


def packed(sheet: Sheet, *values: Any) -> Operand:
    return sheet.inside(
        sheet.made("PACK", *values, gives="int32", values_count=len(values), axis=0)
    )


def test_attention_of_any_length_equals_litert() -> None:
    sheet, data = Sheet(), x(2, 6, 8)
    batch, length, width = sizes(sheet, data)
    # As TensorFlow lowers einsum: free sizes, multiplied by segments of a vector.
    outer = packed(sheet, batch, length)
    rows = sheet.inside(sheet.made("UNSORTED_SEGMENT_PROD", outer, [0, 0], 1))
    last = sheet.inside(sheet.made("RESHAPE", width, [1]))
    flat_shape = sheet.inside(sheet.made("CONCATENATION", rows, last, axis=0))
    flat = sheet.made("RESHAPE", data, flat_shape)
    dense = sheet.made("FULLY_CONNECTED", flat, WEIGHTS, None, gives=SUMS)
    split = sheet.made("RESHAPE", dense, packed(sheet, batch, length, 2, 4))
    heads = sheet.made("TRANSPOSE", split, [0, 2, 1, 3], gives=((2, 2, 6, 4), *SUMS[1:]))
    scores = sheet.made("BATCH_MATMUL", heads, heads, gives=SCORES, adj_y=True)
    chances = sheet.made("SOFTMAX", scores, gives=PLAIN, beta=1.0)
    sheet.add("BATCH_MATMUL", chances, heads, gives=SUMS)
    library = sheet.check_open([("b", "n", 8)], *RUNS)
    assert [str(each.shape) for each in library.outputs[:2]] == ["(b * n, 8)", "(b * n, 8)"]


def test_operators_on_shapes_equal_litert() -> None:
    sheet, data = Sheet(), x(2, 6, 3)
    batch, length, _ = sizes(sheet, data)
    sheet.add("SUB", sheet.made("MUL", length, 2, gives=NUMBER), batch, gives=NUMBER)
    more = sheet.made("ADD", length, 1, gives=NUMBER)
    sheet.add("CAST", more, gives=((), "float32", None))
    for step in (1, 2):
        sheet.add("RANGE", 0, more, step, gives="int32")
    shape = packed(sheet, batch, more)
    sheet.add("FILL", shape, 7)
    sheet.add("REDUCE_PROD", shape, [0], gives=NUMBER, keep_dims=False)
    sheet.add("GATHER", shape, [1, 0], axis=0)
    sheet.add("EXPAND_DIMS", more, 0, gives="int32")
    row = fixed(np.arange(1, 4).reshape(1, 1, 3), "int8", Q)
    sheet.add("BROADCAST_TO", row, packed(sheet, batch, length, 3))
    sheet.add("TILE", row, packed(sheet, length, 1, 2))
    sheet.add("STRIDED_SLICE", data, [0, -1, 0], [0, 0, 2], [1, 1, 1], begin_mask=1, end_mask=3)
    sheet.add("STRIDED_SLICE", data, [0] * 3, [0] * 3, [1, -1, 1], begin_mask=7, end_mask=7)
    sheet.add("LESS", length, 5, gives=((), "bool", None))
    sheet.add("EQUAL", batch, 2, gives=((), "bool", None))
    sheet.add("MAXIMUM", batch, length, gives=NUMBER)
    for kernels in (False, True):
        sheet.check_open([("b", "n", 3)], *RUNS, kernels=kernels)


def test_quotients_and_extremes_of_shapes_are_shapes() -> None:
    sheet, data, same = Sheet(), x(2, 4, 6, 3), [1, 1, 1, 1]
    shape = shape_of(sheet, data)
    larger = sheet.made("ADD", shape, [0, 1, 1, 1])
    wider = sheet.made("MUL", shape, [6, 1, 1, 1])
    for code, operands in (
        ("MAXIMUM", (shape, same)),
        ("MINIMUM", (larger, shape)),
        ("DIV", (shape, same)),
        ("DIV", (wider, [2, 1, 1, 3])),
    ):
        sheet.add("RESHAPE", data, sheet.made(code, *operands))
    sheet.check_open([("n", 4, 6, 3)], {"n": 1}, {"n": 5})


def test_sizes_count_where_they_are_known() -> None:
    for addend, is_certain in (([2, -3], True), ([-2, -2], False)):
        sheet = Sheet()
        rest = sheet.made("ADD", shape_of(sheet, x(2, 3)), addend)
        sheet.add("WHERE", rest, gives="int64")
        if is_certain:
            sheet.check_open([("n", 3)], {"n": 1}, {"n": 2})
            continue
        with pytest.raises(QnnError, match="WHERE: the shape of its result depends on the data"):
            sheet.check_open([("n", 3)])
    sheet = Sheet()
    wide = shape_of(sheet, x(2, 3))
    for _ in range(2):
        wide = sheet.made("MUL", wide, [65536, 65536])
    sheet.add("STRIDED_SLICE", wide, [1], [2], [1])
    sheet.check_open([("n", 3)], {"n": 1}, {"n": 2})


def test_a_table_has_as_many_rows_as_a_size_may_have() -> None:
    sheet, data = Sheet(), x(2, 6, 3)
    _, length, _ = sizes(sheet, data)
    table = fixed(np.arange(48).reshape(16, 3), "int8", Q)
    rows = sheet.made("STRIDED_SLICE", table, [0, 0], packed(sheet, length, 3), [1, 1])
    sheet.add("ADD", data, rows)
    sheet.check_open([("b", "n", 3)], *RUNS, n=range(1, 17))
    with pytest.raises(QnnError, match=r"STRIDED_SLICE .*: the size n is open, where it must be"):
        sheet.check_open([("b", "n", 3)])


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
    model = one("ABS", x(1, 6, 6, 2)).model()
    mod, params = from_tflite(model, shapes)
    assert str(signature_of(mod).inputs[0].shape) == shape
    assert bounds_of(mod["main"]) == bounds
    images = np.random.default_rng(0).integers(-128, 128, (3, 6, 6, 2)).astype(np.int8)
    expected = library_of(model, shape_dict={"x1": images.shape}).run(images)
    np.testing.assert_array_equal(build(mod, "llvm", params).run(images), expected)


def test_what_a_file_leaves_open_stays_open() -> None:
    graph = read_model(one("ABS", x(1, 1, 4)).model())
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
    data, options = given(np.ones((2, 3, 8)), "float32"), {"keep_num_dims": True}
    sheet = one("FULLY_CONNECTED", data, WEIGHTS, None, gives="float32", **options)
    sheet.check_open([("b", "n", 8)], *RUNS)
