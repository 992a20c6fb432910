"""The table of operators has one row for each, with rules that are asked."""

import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path

import frontends.tflite.converters
from frontends.tflite.operators import OPERATORS, codes_with, row_of
from frontends.tflite.schema import OPERATORS as NAMES

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
