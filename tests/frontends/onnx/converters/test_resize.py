"""Resize to what lies between neighbours, against ONNX Runtime."""

from __future__ import annotations

import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_branches import Branches, Case, check, floats, ints

SIZES = {
    "twice": (floats(1, 1, 2, 2),),
    "odd scales": (floats(1, 1, 0.6, 1.7),),
    "a size": ("", ints(1, 4, 13, 5)),
    "one axis": (floats(1, 1, 1, 2),),
    "one pixel": ("", ints(1, 4, 1, 1)),
}
CASES = {
    f"{mode}, {name}": Case(
        "Resize",
        ("x", "", *sizes),
        {"mode": "linear", "coordinate_transformation_mode": mode},
        None if number % 2 else 0.043,
    )
    for mode in ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
    for number, (name, sizes) in enumerate(SIZES.items())
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("scale", [0.0625, 0.0437])
def test_linear(dtype: str, scale: float) -> None:
    assert check(CASES, dtype, scale)


@pytest.mark.parametrize(
    ("operands", "attributes"),
    [
        (("x", "", floats(1, 2, 2, 2)), {"mode": "linear"}),
        (("x", "", floats(1, 1, 2, 2)), {"mode": "cubic"}),
        (("x", "", floats(1, 1, 0.5, 0.5)), {"mode": "linear", "antialias": 1}),
        (("x", "", ints(1, 4, 0, 8).astype("float32")), {"mode": "linear"}),
    ],
)
def test_what_is_refused(operands: tuple[object, ...], attributes: dict[str, object]) -> None:
    branches = Branches({"odd": Case("Resize", operands, attributes)}, "uint8", 0.1, (1, 4, 8, 8))
    with pytest.raises((UnsupportedOperatorError, ValueError)):
        from_onnx(branches.model())
