from typing import Any

import numpy as np
import pytest

from qnn_ops import quantized_resize2d
from tests.support.arrays import full_range
from tests.support.kernels import Call, Place, check_calls, each_register, kernels_of, lowered

CENTERS = [(False, False), (True, False), (False, True)]


def resize(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...], size: list[int], **attrs: Any
) -> Call:
    aligned, half_pixels = CENTERS[rng.integers(3)]
    centers = {"align_corners": aligned, "half_pixel_centers": half_pixels}
    return Call(
        quantized_resize2d, [full_range(rng, dtype, shape)], {"size": size, **centers, **attrs}
    )


@each_register
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bilinear(place: Place, dtype: str) -> None:
    rng = np.random.default_rng(1)
    shapes = [((1, 5, 6, 40), [9, 13]), ((2, 4, 3, 37), [8, 6]), ((1, 8, 8, 64), [5, 3])]
    # Images small enough for LLVM to unroll.
    shapes += [((1, 1, 2, 33), [1, 3]), ((1, 2, 1, 32), [1, 1])]
    check_calls(
        place, [resize(rng, dtype, shape, size, method="bilinear") for shape, size in shapes]
    )


@each_register
def test_nearest_neighbour(place: Place) -> None:
    rng = np.random.default_rng(2)
    shapes = [((1, 5, 6, 40), [9, 13]), ((2, 4, 3, 3), [8, 6]), ((1, 7, 9, 5), [3, 9])]
    shapes += [((1, 1, 2, 3), [1, 4]), ((1, 1, 1, 1), [2, 1])]
    check_calls(
        place,
        [resize(rng, "uint8", shape, size, method="nearest_neighbor") for shape, size in shapes],
    )


@pytest.mark.parametrize(
    ("shape", "method", "expected"),
    [
        ((1, 4, 4, 64), "bilinear", True),
        ((1, 4, 4, 3), "bilinear", False),
        ((1, 4, 4, 3), "nearest_neighbor", True),
        ((0, 4, 4, 64), "nearest_neighbor", False),
    ],
)
def test_what_is_served(shape: tuple[int, ...], method: str, expected: bool) -> None:
    call = resize(np.random.default_rng(3), "int8", shape, [7, 7], method=method)
    target = {"kind": "llvm", "mcpu": "haswell"}
    assert bool(kernels_of(lowered(call, target))) == expected
