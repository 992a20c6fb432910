from typing import Any

import numpy as np
import pytest
import tvm

from qnn_ops.dialect.plain import plain


def test_lists_that_only_look_equal_keep_their_types() -> None:
    fields = {"flags": [True], "integers": [1], "floats": [1.0]}
    attrs = tvm.ir.make_node("ir.DictAttrs", **fields)
    found = {name: plain(value) for name, value in attrs.items()}
    assert {name: type(value) for name, (value,) in found.items()} == {
        "flags": bool,
        "integers": int,
        "floats": float,
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.float64(0.5), 0.5),
        (np.str_("int8"), "int8"),
        (np.dtype("int8"), "int8"),
        ((True, 2), (True, 2)),
    ],
)
def test_values_are_python_s_own(given: Any, expected: Any) -> None:
    """As TVM gives them back: ``attrs_of`` returns what was given, or what TVM holds."""
    found = plain(given)
    assert found == expected
    assert type(found) is type(expected)
