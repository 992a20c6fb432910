"""Resize with interpolation between neighbours, against ONNX Runtime."""

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_branches import Branches, Case, check, floats, ints
from tests.support.onnx_graphs import Net, Node

SIZES = {
    "twice": (floats(1, 1, 2, 2),),
    "odd scales": (floats(1, 1, 0.6, 1.7),),
    "a size": ("", ints(1, 4, 13, 5)),
    "one axis": (floats(1, 1, 1, 2),),
    "one pixel": ("", ints(1, 4, 1, 1)),
}
MODES = ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
CASES = {
    f"{mode}, {name}": Case(
        "Resize",
        ("x", "", *sizes),
        {"mode": "linear", "coordinate_transformation_mode": mode},
        None if number % 2 else 0.043,
    )
    for mode in MODES
    for number, (name, sizes) in enumerate(SIZES.items())
}


@pytest.mark.parametrize(("dtype", "scale"), [("uint8", 0.0625), ("int8", 0.0437)])
def test_linear(dtype: str, scale: float) -> None:
    assert check(CASES, dtype, scale)


CUBIC = {
    "twice": [*((mode, -0.75) for mode in MODES), ("half_pixel", -0.5)],
    "odd scales": [("half_pixel", -0.75), ("align_corners", -0.75)],
    "a size": [("asymmetric", -0.75), ("half_pixel", -0.5)],
    "one axis": [("align_corners", -0.75)],
    "one pixel": [("pytorch_half_pixel", -0.75), ("align_corners", -0.75)],
}
"""Places by modes and slopes; where the linear cases put the pixels, these do, too."""


@pytest.mark.parametrize("name", CUBIC)
def test_cubic(name: str) -> None:
    """Bit for bit: the shares, and the order of products and sums, are ONNX Runtime's."""
    data = {"x": np.random.default_rng(5).normal(0, 1, (1, 4, 8, 8)).astype(np.float32)}
    names = ("scales", "sizes")
    constants = {key: each for key, each in zip(names, SIZES[name], strict=False) if len(each)}
    operands = " ".join(["x", "_", *(key if key in constants else "_" for key in names)])
    nodes: list[Node] = []
    for mode, slope in CUBIC[name]:
        attributes = {"coordinate_transformation_mode": mode, "cubic_coeff_a": slope}
        nodes.append(("Resize", operands, f"y{len(nodes)}", {"mode": "cubic", **attributes}))
    Net(nodes, data, constants).check()


@pytest.mark.parametrize(
    ("operands", "attributes"),
    [
        (("x", "", floats(1, 2, 2, 2)), {"mode": "linear"}),
        (("x", "", floats(1, 2, 2, 2)), {"mode": "cubic"}),
        (("x", "", floats(1, 1, 2, 2)), {"mode": "cubic", "exclude_outside": 1}),
        (("x", "", floats(1, 1, 2, 2)), {"mode": "area"}),
        (("x", "", floats(1, 1, 0.5, 0.5)), {"mode": "linear", "antialias": 1}),
        (("x", "", ints(1, 4, 0, 8).astype("float32")), {"mode": "linear"}),
    ],
)
def test_what_is_refused(operands: tuple[object, ...], attributes: dict[str, object]) -> None:
    branches = Branches({"odd": Case("Resize", operands, attributes)}, "uint8", 0.1, (1, 4, 8, 8))
    with pytest.raises((UnsupportedOperatorError, ValueError)):
        from_onnx(branches.model())
