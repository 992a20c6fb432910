"""ConvTranspose between DequantizeLinear and QuantizeLinear, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.errors import failing
from tests.support.onnx_branches import RNG, Branches, Case, Weights, check, floats


def case(shape: tuple[int, ...], bias: bool = True, **attributes: Any) -> Case:
    """Return one whose weights are of few bits."""
    weights = Weights(RNG.integers(-127, 128, shape).astype(np.int8), np.array(2.0**-7, np.float32))
    units = shape[1] * attributes.get("group", 1)
    operands = ("x", weights, floats(*RNG.normal(0, 1, units))) if bias else ("x", weights)
    return Case("ConvTranspose", operands, attributes, 0.25)


CASES = {
    "as wide as its stride": case((4, 3, 2, 2), strides=[2, 2]),
    "without a bias": case((4, 3, 2, 2), False, strides=[2, 2]),
    "overlapping": case((4, 3, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1]),
    "no strides": case((4, 2, 3, 3), pads=[1, 0, 2, 1]),
    "strides beyond its window": case((4, 2, 2, 1), strides=[3, 2]),
    "a row more": case((4, 2, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
    "dilated": case((4, 2, 3, 2), strides=[2, 1], dilations=[2, 3]),
    "groups": case((4, 2, 3, 3), strides=[2, 2], group=2),
    "of each channel": case((4, 1, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1], group=4),
    "same size": case((4, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
    "same size below": case((4, 2, 3, 3), strides=[2, 2], auto_pad="SAME_LOWER"),
    "valid": case((4, 2, 3, 3), strides=[2, 2], auto_pad="VALID"),
    "a stated size": case((4, 2, 3, 3), strides=[2, 2], output_shape=[16, 15]),
}
DEEP = {f"{shape}": case(shape, strides=[2, 2]) for shape in ((300, 2, 2, 2), (300, 3, 3, 3))}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_windows(dtype: str) -> None:
    assert check(CASES, dtype, 0.0625)


def test_rows() -> None:
    assert check({"rows": case((4, 3, 3), strides=[2])}, "uint8", 0.0437, (2, 4, 32))


@pytest.mark.parametrize("image", [(5, 7), (20, 17), (2, 3)])
def test_long_sums(image: tuple[int, int]) -> None:
    assert check(DEEP, "uint8", 0.0437, (1, 300, *image))


test_what_is_refused = failing(
    lambda shape, attributes: from_onnx(
        Branches({"odd": case(shape, **attributes)}, "uint8", 0.1, (1, 4, 8, 8)).model()
    ),
    ((3, 2, 2, 2), {}, "1 groups"),
    ((4, 2, 64, 64), {}, "4096 taps"),
    ((4, 2, 1, 1), {"strides": [5000, 5000]}, "ConvTranspose: a tensor has 2,450,140,002 elements"),
    ((4, 2, 2, 2), {"pads": [9, 9, 9, 9]}, "leaves nothing"),
    error=(UnsupportedOperatorError, ValueError),
)
