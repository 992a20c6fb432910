"""What follows from shapes and constants alone."""

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from frontends.known import MOST
from frontends.tflite import from_tflite
from frontends.tflite.converters.folding import _OF_SHAPES
from frontends.tflite.operators import row_of
from frontends.tflite.source import TFLiteSource
from tests.support.tflite import Operand, Sheet, check_refused, fixed, given, one, refused, x
from tvm_qnn import build


def shape_of(data: Operand, sheet: Sheet, gives: str = "int32") -> Operand:
    result: Operand = sheet.made("SHAPE", data, gives=gives, out_type=gives)
    return result


def test_shape_arithmetic_equals_litert() -> None:
    sheet, data = Sheet(seed=1), x(2, 4, 6, 3)
    shape = shape_of(data, sheet)
    middle = sheet.made("STRIDED_SLICE", shape, [1], [3], [1])
    sheet.add("RESIZE_BILINEAR", data, sheet.made("MUL", middle, [2, 2]))
    first = sheet.made("GATHER", shape, 0, axis=0)
    count = sheet.made("REDUCE_PROD", middle, [0])
    sheet.add("RESHAPE", data, sheet.made("PACK", first, count, -1, values_count=3))
    sheet.check()


ROW = np.array([3, -4, 5, 2, 1, 2**30], np.int32)
TABLE = np.array([[3, -4, 5], [0, 2, 7]], np.int32)
HALVES = np.array([0.5, 1.5, -2.5, -0.25, 7.0], np.float32)

# Code, operands (lists are of int32), dtype of the result, options.
CASES: list[tuple[str, list[Any], str, dict[str, Any]]] = [
    ("ADD", [[2**31 - 1, 5], [1]], "int32", {}),
    ("SUB", [np.array([3, 5], np.int64), np.array([7], np.int64)], "int64", {}),
    ("MUL", [np.array([1.1, 0.3], np.float32), np.array([3.3], np.float32)], "float32", {}),
    ("MINIMUM", [[3, 5], [4]], "int32", {}),
    ("MAXIMUM", [[3, 5], [4]], "int32", {}),
    ("CAST", [np.array([1.9, -2.9, np.nan, 3e9, -3e9], np.float32)], "int32", {}),
    ("CAST", [[2**31 - 1, -7]], "float32", {}),
    ("CONCATENATION", [[1], [2, 3]], "int32", {"axis": 0}),
    ("FILL", [[2, 3], 7], "int32", {}),
    ("RANGE", [2, 11, 4], "int32", {}),
    ("RANGE", [5, -3, -2], "int32", {}),
    ("RANGE", [np.array(each, np.float32) for each in (0.1, 3.0, 0.1)], "float32", {}),
    ("BROADCAST_ARGS", [[3, 1], [2, 1, 4]], "int32", {}),
    ("BROADCAST_ARGS", [[-1, 3], [1, 3]], "int32", {}),
    ("BROADCAST_TO", [[3, 4], [2, 2]], "int32", {}),
    ("EXPAND_DIMS", [[3, 4], 0], "int32", {}),
    ("WHERE", [[[0, -3], [7, 0]]], "int64", {}),
    ("WHERE", [np.array([0, np.nan, -0.0, 1], np.float32)], "int64", {}),
    ("SQUEEZE", [[3]], "int32", {}),
    ("RESHAPE", [[3, 4], [2, 1]], "int32", {}),
    ("SQUEEZE", [[[[3]], [[4]]]], "int32", {"squeeze_dims": [-1]}),
    ("TRANSPOSE", [TABLE, [1, 0]], "int32", {}),
    ("TRANSPOSE", [TABLE, np.array([1, 0])], "int32", {}),
    ("REVERSE_V2", [TABLE, [1]], "int32", {}),
    ("TILE", [TABLE, [2, 1]], "int32", {}),
    ("GATHER_ND", [TABLE, [[1, 0], [0, 2]]], "int32", {}),
    ("SCATTER_ND", [[[1], [3], [1]], [5, -2, 9], [4]], "int32", {}),
    (
        "SPARSE_TO_DENSE",
        [np.array([2, 0]), np.array([4]), np.array([7, -1]), np.array(3)],
        "int64",
        {},
    ),
    ("SPARSE_TO_DENSE", [[[0, 2], [1, 1]], [2, 3], np.array(5), np.array(0)], "int64", {}),
    ("SPARSE_TO_DENSE", [2, [4], 7, 0], "int32", {}),
    ("SPARSE_TO_DENSE", [[3, 0], [4], HALVES[:2], HALVES[4]], "float32", {}),
    *(
        (f"UNSORTED_SEGMENT_{name}", [ROW, [0, 2, -1, 2, 0, 0], 4], "int32", {})
        for name in ("PROD", "SUM", "MAX", "MIN")
    ),
    ("UNSORTED_SEGMENT_SUM", [ROW, [0, 4095, -1, 2, 0, 0], 4096], "int32", {}),
    ("DIV", [[7, -7, 2**31 - 1], [2, 2, -3]], "int32", {}),
    ("DIV", [np.array([7, -7], np.float32), np.array([3], np.float32)], "float32", {}),
    ("ABS", [ROW], "int32", {}),
    ("NEG", [ROW], "int32", {}),
    ("FLOOR", [HALVES], "float32", {}),
    ("SELECT_V2", [np.array([True, False, True]), TABLE, 9], "int32", {}),
    ("SELECT", [TABLE > 0, TABLE, -TABLE], "int32", {}),
    *(
        (code, [TABLE, [-1]], "int32", {"keep_dims": True})
        for code in ("SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")
    ),
    ("CUMSUM", [ROW, 0], "int32", {"exclusive": True, "reverse": True}),
]


def constant(values: Any) -> Operand:
    """Return an array, or a list of int32."""
    array = values if hasattr(values, "dtype") else np.array(values, np.int32)
    return fixed(array, array.dtype.name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_constants_equal_litert(case: tuple[str, list[Any], str, dict[str, Any]]) -> None:
    code, operands, dtype, options = case
    sheet = Sheet()
    result = sheet.made(code, *map(constant, operands), gives=dtype, **options)
    sheet.add("EQUAL", given(np.ones(1), dtype), result, gives="bool")
    assert operators(sheet.model()) <= {"relax.astype", "relax.equal"}  # as EQUAL compares bool
    for got, expected in sheet.outputs():
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("code", "operands", "result"),
    [
        # LiteRT's reference kernels lack these, or want the result's shape in the file.
        ("CEIL", [HALVES], ((5,), "float32", None)),
        ("ROUND", [HALVES], ((5,), "float32", None)),
        ("SLICE", [ROW, [2], [3]], ((3,), "int32", None)),
        ("SLICE", [ROW, np.array([2]), np.array([-1])], ((4,), "int32", None)),
    ],
)
def test_constants_equal_litert_s_default(code: str, operands: list[Any], result: Any) -> None:
    sheet = one(code, *map(constant, operands), gives=result)
    assert operators(sheet.model()) == set()
    sheet.check_default()


@pytest.mark.parametrize(
    ("code", "operands", "count", "options"),
    [
        ("UNPACK", [TABLE], 3, {"axis": 1, "num": 3}),
        ("SPLIT", [1, TABLE], 3, {"num_splits": 3}),
        ("SPLIT_V", [ROW, [1, -1, 2], 0], 3, {"num_splits": 3}),
    ],
)
def test_parts_are_known(code: str, operands: list[Any], count: int, options: Any) -> None:
    sheet = one(code, *map(constant, operands), gives=["int32"] * count, **options)
    assert operators(sheet.model()) == set()
    sheet.check()


def test_the_rest_of_a_shape_is_known_through_any_operator() -> None:
    """As in exports of Dense on several axes, attention, and `unstack` of a shape."""
    sheet, data = Sheet(seed=5), x(2, 3, 8)
    wide = shape_of(data, sheet, "int64")
    kept = sheet.made("SLICE", wide, [0], [2], gives=((2,), "int64", None))
    joined = sheet.made("CONCATENATION", kept, fixed([-1], "int64"), axis=0)
    sheet.add("RESHAPE", data, sheet.made("CAST", joined, gives="int32"))
    shape = shape_of(data, sheet)
    sheet.add("RESHAPE", data, sheet.made("UNSORTED_SEGMENT_PROD", shape, [0, 1, 1], 2))
    _, middle, _ = sheet.made("UNPACK", shape, gives=["int32"] * 3, num=3)
    sheet.add("RESHAPE", data, sheet.made("PACK", -1, middle, gives="int32", values_count=2))
    assert operators(sheet.model()) == {"relax.reshape"}
    sheet.check()


def operators(model: bytes) -> set[str]:
    """Name the remaining operators."""
    return names_of(from_tflite(model)[0])


def names_of(mod: tvm.IRModule) -> set[str]:
    """Name a module's operators."""
    bindings = mod["main"].body.blocks[0].bindings
    return {each.value.op.name for each in bindings if isinstance(each.value, relax.Call)}


def flattened() -> Sheet:
    sheet, data = Sheet(seed=2), x(1, 4, 3)
    first = sheet.made("GATHER", shape_of(data, sheet), 0, axis=0)
    return sheet.add("RESHAPE", data, sheet.made("PACK", first, -1, values_count=2))


def test_nothing_of_it_is_left_to_do() -> None:
    assert operators(flattened().model()) == {"relax.reshape"}
    mod, params = from_tflite(flattened().model(), shape_dict={"x1": (5, 4, 3)})
    results = build(mod, "llvm", params).run(np.zeros((5, 4, 3), np.int8))
    assert next(iter(results.values())).tolist() == [5, 4, 3]
    assert list(results.values())[-1].shape == (5, 12)
    summary = TFLiteSource(flattened().model()).summary("x")
    assert {operator.lowering for operator in summary.operators} == {"integer"}


def counted(*ends: float) -> Sheet:
    return one("RANGE", *(fixed(end, "float32") for end in ends), gives="float32")


test_what_is_refused = refused(
    ("no numbers lead from 0 to 5", one("RANGE", 0, 5, -1, gives="int32")),
    ("RANGE: it makes a tensor of 8,589,934,588", one("RANGE", 0, 2**31 - 1, 1, gives="int32")),
    (r"'c1' must be one number, is of shape \(2,\)", one("RANGE", [0, 1], 5, 1, gives="int32")),
    *(
        (f"RANGE: of {count} numbers of float32", counted(*ends))
        for *ends, count in (
            (0, 5000, 1, 5000),
            (-3e38, 3e38, 1, "inf"),
            (0, 1000, 1e-42, "inf"),
            (np.nan, 3, 1, "nan"),
        )
    ),
    (r"\(2, 3\), \(4, 3\) do not broadcast", one("BROADCAST_ARGS", [2, 3], [4, 3], gives="int32")),
    ("WHERE: tensor 0 'c1' is a scalar", one("WHERE", 3, gives="int64")),
    ("DIV .*: divides by 0, which tensor 1 'c2' has", one("DIV", [3, 4], [1, 0], gives="int32")),
    (r"FILL .*: input 1 is missing", one("FILL", [2], gives="int32")),
)


def test_what_is_not_data_of_the_file() -> None:
    one("RANGE", 0, 5, 1, gives="int64").check()
    sums = one("UNSORTED_SEGMENT_SUM", [3, 4], [0, 7], MOST, gives="int32")
    assert operators(sums.model()) == set()
    more = one("UNSORTED_SEGMENT_SUM", [3, 4], [0, 7], MOST + 1, gives="int32")
    assert operators(more.model()) != set()
    sheet = one("ADD", np.ones((4096, 1)), np.ones((1, 4096)), gives="int32")
    assert operators(sheet.model()) != set()


@pytest.mark.parametrize(
    ("sheet", "is_known"),
    [
        (one("MUL", [3, 4], [2], gives="int32"), True),
        (one("FLOOR_DIV", [3, 4], [2], gives="int32"), True),
        (one("BROADCAST_ARGS", [3, 1], [1, 4], gives="int32"), True),
        (one("ONE_HOT", [1, 2], 3, 1, 0, gives="int32", axis=-1), False),
        (one("SIGN", [1, -2], gives="int32"), False),
        (one("RIGHT_SHIFT", [5, 6], [1, 1], gives="int32"), False),
    ],
)
def test_tflm_s_results_of_shapes_are_known(sheet: Sheet, is_known: bool) -> None:
    if is_known:
        assert names_of(from_tflite(sheet.model(), semantics="tflm")[0]) == set()
    else:
        reason = "what TFLM computes for it is not computed here"
        check_refused(sheet.model(), reason, semantics="tflm")


def test_the_operators_of_shapes_are_those_without_types_of_tflm() -> None:
    assert [code for code in _OF_SHAPES if row_of(code).micro or row_of(code) == row_of("")] == []
