from __future__ import annotations

import json

import pytest

from tvm_qnn.io.json_text import to_json


def _refuse(word: str) -> None:
    pytest.fail(f"{word} is no JSON")


def test_what_is_no_finite_number_is_null() -> None:
    value = {"a": float("nan"), "b": [1.5, float("inf"), (-float("inf"), "NaN")], "c": {"d": 7}}
    found = json.loads(to_json(value), parse_constant=_refuse)
    assert found == {"a": None, "b": [1.5, None, [None, "NaN"]], "c": {"d": 7}}


def test_indented_as_asked() -> None:
    assert to_json({"a": 1}, indent=2) == '{\n  "a": 1\n}'
