"""Convolutions of rows, images and volumes, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_branches import RNG, Case, Weights, check

DEPTH = 4


def conv(
    kernel: list[int], units: int = 6, bias: str = "int32", scale: float = 3.0, **attributes: Any
) -> Case:
    groups = attributes.get("group", 1)
    values = RNG.integers(-127, 128, (units, DEPTH // groups, *kernel)).astype(np.int8)
    scales = RNG.choice([0.0078125, 0.0113, 0.25], units).astype(np.float32)
    operands: list[Any] = ["x", Weights(values, scales)]
    if bias == "int32":
        # As a bias must be, its steps are those of the sums; x has 0.0625.
        steps = RNG.integers(-3000, 3000, units).astype(np.int32)
        operands.append(Weights(steps, np.float32(0.0625) * scales))
    elif bias == "float":
        operands.append(RNG.normal(0, 20, units).astype(np.float32))
    return Case("Conv", tuple(operands), {"kernel_shape": kernel, **attributes}, scale)


IMAGES = {
    "asymmetric": conv([3, 3], pads=[0, 1, 2, 0], strides=[2, 1]),
    "same upper": conv([3, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
    "same lower": conv([2, 4], auto_pad="SAME_LOWER", strides=[1, 2]),
    "valid": conv([2, 2], auto_pad="VALID", bias=""),
    "float bias": conv([1, 1], bias="float"),
    "groups": conv([3, 3], 8, group=2, pads=[1, 1, 1, 1], bias="float"),
    "depthwise": conv([3, 3], 8, group=4, auto_pad="SAME_UPPER"),
}
ROWS = {
    "row": conv([3]),
    "padded row": conv([3], pads=[2, 1], strides=[2], dilations=[2], bias="float"),
    "grouped row": conv([5], 8, group=4, auto_pad="SAME_UPPER", bias=""),
    "row pool": Case("MaxPool", ("x",), {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
    "row average": Case(
        "AveragePool", ("x",), {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}, 0.05
    ),
    "row mean": Case("GlobalAveragePool", ("x",), {}, 0.02),
}
VOLUMES = {
    "volume": conv([2, 3, 3]),
    "padded volume": conv([3, 2, 1], pads=[1, 0, 2, 2, 1, 0], strides=[2, 1, 2], bias="float"),
    "dilated volume": conv([2, 2, 2], dilations=[2, 1, 2], bias=""),
    "volume of the same size": conv([2, 3, 2], auto_pad="SAME_UPPER", strides=[2, 1, 1]),
    "grouped volume": conv([2, 2, 2], 8, group=2),
    "volume pool": Case("MaxPool", ("x",), {"kernel_shape": [2, 3, 2], "pads": [1] * 6}),
    "volume mean": Case("GlobalAveragePool", ("x",), {}, 0.02),
}
SHAPES: dict[str, tuple[dict[str, Case], tuple[int, ...]]] = {
    "images": (IMAGES, (2, DEPTH, 8, 9)),
    "rows": (ROWS, (2, DEPTH, 33)),
    "volumes": (VOLUMES, (2, DEPTH, 5, 6, 7)),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("name", SHAPES)
def test_convolutions(name: str, dtype: str) -> None:
    cases, shape = SHAPES[name]
    assert not check(cases, dtype, 0.0625, shape)
