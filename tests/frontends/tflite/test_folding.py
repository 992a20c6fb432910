"""What follows from shapes and constants alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm import relax

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.source import TFLiteSource
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from tests.support.tflite import Sheet
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself
NUMBERS = (ANY, "int32", None)


def test_shape_arithmetic_equals_litert() -> None:
    sheet = Sheet(seed=1)
    data = sheet.random_input((2, 4, 6, 3), "int8", Q)
    shape = sheet.operator("SHAPE", [data], ((4,), "int32", None), out_type="int32")
    bounds = [sheet.constant(each) for each in ([1], [3], [1])]
    middle = sheet.operator("STRIDED_SLICE", [shape, *bounds], ((2,), "int32", None))
    twice = sheet.operator("MUL", [middle, sheet.constant([2, 2])], ((2,), "int32", None))
    sheet.operator("RESIZE_BILINEAR", [data, twice], (ANY, "int8", Q))
    first = sheet.operator("GATHER", [shape, sheet.constant(0)], ((), "int32", None), axis=0)
    count = sheet.operator("REDUCE_PROD", [middle, sheet.constant([0])], ((), "int32", None))
    rest = sheet.constant(np.int32(-1))
    flat = sheet.operator("PACK", [first, count, rest], ((3,), "int32", None), values_count=3)
    sheet.operator("RESHAPE", [data, flat], (ANY, "int8", Q))
    sheet.check()


# Code, operands, dtype of the result, options.
CASES: list[tuple[str, list[Any], str, dict[str, Any]]] = [
    ("ADD", [np.array([2**31 - 1, 5], np.int32), np.array([1], np.int32)], "int32", {}),
    ("SUB", [np.array([3, 5], np.int64), np.array([7], np.int64)], "int64", {}),
    ("MUL", [np.array([1.1, 0.3], np.float32), np.array([3.3], np.float32)], "float32", {}),
    ("MINIMUM", [np.array([3, 5], np.int32), np.array([4], np.int32)], "int32", {}),
    ("MAXIMUM", [np.array([3, 5], np.int32), np.array([4], np.int32)], "int32", {}),
    ("CAST", [np.array([1.9, -2.9, np.nan, 3e9, -3e9], np.float32)], "int32", {}),
    ("CAST", [np.array([2**31 - 1, -7], np.int32)], "float32", {}),
    ("CONCATENATION", [np.array([1], np.int32), np.array([2, 3], np.int32)], "int32", {"axis": 0}),
    ("FILL", [np.array([2, 3], np.int32), np.array(7, np.int32)], "int32", {}),
    ("RANGE", [np.array(each, np.int32) for each in (2, 11, 4)], "int32", {}),
    ("RANGE", [np.array(each, np.int32) for each in (5, -3, -2)], "int32", {}),
    ("RANGE", [np.array(each, np.float32) for each in (0.1, 3.0, 0.1)], "float32", {}),
    ("BROADCAST_ARGS", [np.array([3, 1], np.int32), np.array([2, 1, 4], np.int32)], "int32", {}),
    ("BROADCAST_TO", [np.array([3, 4], np.int32), np.array([2, 2], np.int32)], "int32", {}),
    ("EXPAND_DIMS", [np.array([3, 4], np.int32), np.array(0, np.int32)], "int32", {}),
    ("WHERE", [np.array([[0, -3], [7, 0]], np.int32)], "int64", {}),
    ("SQUEEZE", [np.array([3], np.int32)], "int32", {}),
    ("RESHAPE", [np.array([3, 4], np.int32), np.array([2, 1], np.int32)], "int32", {}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_constants_equal_litert(case: tuple[str, list[Any], str, dict[str, Any]]) -> None:
    code, operands, dtype, options = case
    writer = ModelWriter()
    data = writer.tensor("x", (1,), dtype)
    numbers = [
        writer.tensor(f"c{i}", array.shape, array.dtype.name, None, array)
        for i, array in enumerate(operands)
    ]
    result = writer.tensor("y", ANY, dtype)
    writer.operator(code, numbers, [result], **options)
    same = writer.tensor("same", ANY, "bool")
    writer.operator("EQUAL", [data, result], [same])
    content = writer.finish([data], [same, result])
    array = np.ones(1, dtype)
    expected = litert_tensors(content, [array])
    mod, params = from_tflite(content)
    results = list(build(mod, "llvm", params).run(array).values())
    for index, got in zip((same, result), results, strict=True):
        assert got.dtype == expected[index].dtype
        np.testing.assert_array_equal(got, expected[index])


def flattened() -> Sheet:
    sheet = Sheet(seed=2)
    data = sheet.random_input((1, 4, 3), "int8", Q)
    shape = sheet.operator("SHAPE", [data], ((3,), "int32", None), out_type="int32")
    first = sheet.operator("GATHER", [shape, sheet.constant(0)], ((), "int32", None), axis=0)
    rest = sheet.constant(np.int32(-1))
    flat = sheet.operator("PACK", [first, rest], ((2,), "int32", None), values_count=2)
    sheet.operator("RESHAPE", [data, flat], (ANY, "int8", Q))
    return sheet


def test_nothing_of_it_is_left_to_do() -> None:
    mod, _ = from_tflite(flattened().model(), outputs=None)
    bindings = mod["main"].body.blocks[0].bindings
    names = {each.value.op.name for each in bindings if isinstance(each.value, relax.Call)}
    assert names == {"relax.reshape"}


def test_shapes_are_those_of_the_import() -> None:
    mod, params = from_tflite(flattened().model(), shape_dict={"x1": (5, 4, 3)})
    results = build(mod, "llvm", params).run(np.zeros((5, 4, 3), np.int8))
    assert next(iter(results.values())).tolist() == [5, 4, 3]
    assert list(results.values())[-1].shape == (5, 12)


def test_the_summary_knows_them() -> None:
    summary = TFLiteSource(flattened().model()).summary("x")
    assert {operator.lowering for operator in summary.operators} == {"integer"}


def test_a_range_without_end_is_refused() -> None:
    sheet = Sheet()
    numbers = [sheet.constant(np.int32(each)) for each in (0, 5, -1)]
    sheet.operator("RANGE", numbers, NUMBERS)
    with pytest.raises(QnnError, match="no numbers lead from 0 to 5"):
        from_tflite(sheet.model())


def test_what_is_large_is_not_made() -> None:
    sheet = Sheet()
    numbers = [sheet.constant(np.int32(each)) for each in (0, 2**31 - 1, 1)]
    sheet.operator("RANGE", numbers, NUMBERS)
    with pytest.raises(QnnError, match="RANGE"):
        from_tflite(sheet.model())


def test_an_operand_is_missing() -> None:
    sheet = Sheet()
    sheet.operator("FILL", [sheet.constant([2])], ((2,), "int32", None))
    with pytest.raises(QnnError, match=r"FILL .* do not go together"):
        from_tflite(sheet.model())
