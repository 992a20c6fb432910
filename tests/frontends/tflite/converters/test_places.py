import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import frontends.tflite.converters
from frontends.tflite.operators import OPERATORS, codes_with, row_of
from frontends.tflite.quantization import Quantization
from frontends.tflite.schema import OPERATORS as NAMES
from tests.support.tflite import ANY, Q, Sheet, fixed, given, one, refused, x


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
def test_diagonals_and_gaps_equal_litert(dtype: str) -> None:
    encoding = {"int8": Q, "int16": Quantization.per_tensor(0.5, 0)}.get(dtype)
    sheet, data = Sheet(seed=10), x(2, 3, dtype=dtype, encoding=encoding)
    sheet.add("MATRIX_DIAG", data)
    for shape in ((2, 3, 5), (2, 4, 3)):
        sheet.add("MATRIX_SET_DIAG", x(*shape, dtype=dtype, encoding=encoding), data)
    sheet.add("DILATE", data, [2, 3], fixed(5, dtype, encoding))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32"])
def test_rows_of_keys_equal_litert(dtype: str) -> None:
    table = x(4, 3, 2, dtype=dtype)
    wanted, keys = given([2, 7, -5, 90, 2], "int32"), given([-5, 1, 2, 90], "int32")
    one("HASHTABLE_LOOKUP", wanted, keys, table, gives=[(ANY, *table.kind[1:]), "uint8"]).check()


_FLAGS, _BEYOND = x(2, 3, dtype="bool"), "LiteRT's own kernel writes beyond"

test_what_is_refused = refused(
    (_BEYOND, one("MATRIX_DIAG", _FLAGS)),
    (_BEYOND, one("MATRIX_SET_DIAG", _FLAGS, x(2, dtype="bool"))),
    (r"diagonals of .3,. for matrices of .2, 3.", one("MATRIX_SET_DIAG", x(2, 3), x(3))),
    (r"steps .1, 0. for a tensor", one("DILATE", x(2, 3), [1, 0], fixed(5, "int8", Q))),
    (r"steps .. for a tensor", one("DILATE", x(), [], fixed(5, "int8", Q))),
    (
        "must have keys that rise",
        one("HASHTABLE_LOOKUP", [1], [1, 5, 5], x(3, 2), gives=[(ANY, "int8", Q), "uint8"]),
    ),
)


def test_tensors_without_elements_equal_litert_s() -> None:
    sheet = one("MATRIX_DIAG", x(2, 0, 3))
    sheet.add("DILATE", x(2, 3, 0), [2, 1, 1], fixed(5, "int8", Q))
    wanted, results = given([], "int32"), [(ANY, "int8", Q), "uint8"]
    sheet.add("HASHTABLE_LOOKUP", wanted, [1, 2], x(2, 3), gives=results)
    sheet.check()


FAMILIES = sorted(Path(frontends.tflite.converters.__file__).parents[1].rglob("*.py"))

ADDING = ("OPERATORS.update", "converter")


def adds_rows(node: ast.AST) -> bool:
    """Tell whether a part of a file gives rows to operators."""
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value) == "OPERATORS" and isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ADDING


def rows(family: Path) -> list[str]:
    """List the operators to which a file gives a row, as often as it does."""
    adding = filter(adds_rows, ast.walk(ast.parse(family.read_text())))
    words = [each for part in adding for each in ast.walk(part)]
    found = [each.value for each in words if isinstance(each, ast.Constant)]
    return [each for each in found if each in OPERATORS]


def test_no_row_takes_the_place_of_another() -> None:
    counts = Counter(code for family in FAMILIES for code in rows(family))
    assert len(counts) > 150
    assert {"ABS", "PAD", "PADV2", "UNIQUE", "ONE_HOT"} <= {*counts}  # a row of each form
    assert {code: count for code, count in counts.items() if count > 1} == {}
    assert {code for code in OPERATORS if not code.startswith("CUSTOM:")} <= set(NAMES)
    others = ("quantized", "int16", "floats", "whole", "unscaled", "hybrid")
    assert set(codes_with("data")) & set(codes_with(*others)) == set()
    assert row_of("CUSTOM:Mine") == row_of("CALL")


def test_a_rule_that_replaces_another_is_the_one_that_is_used() -> None:
    before, rule = row_of("ABS"), row_of("RELU").quantized
    assert before.quantized is before.int16 is not None
    changed = replace(before, quantized=rule)
    assert (changed.quantized, changed.int16) == (rule, before.int16)
    both = replace(before, scaled=rule)
    assert both.quantized is both.int16 is rule
