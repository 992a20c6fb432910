from math import prod
from typing import Any

from qnn_ops import blockwise_dense
from tests.support.block_weights import POINTS, Shape, exact_layer
from tests.support.kernels import (
    Call,
    Place,
    check_calls,
    each_product,
    each_register,
    kernels_of,
    lowered,
)

CONSTANTS = ("weights", "scales", "points")
HASWELL = {"kind": "llvm", "mcpu": "haswell"}

# rows, depth, units, bits, size of a block: rows of one kernel and of the other, groups that are
# whole, several, and short, blocks that are short, and of an odd number of weights.
SHAPES: list[Shape] = [
    (1, 64, 32, 4, 32),
    (1, 41, 5, 4, 16),
    (2, 96, 150, 8, 32),
    (3, 200, 33, 4, 64),
    (4, 64, 16, 4, 16),
    (7, 75, 83, 4, 32),
    (13, 40, 30, 8, 16),
    (1, 41, 35, 2, 16),
    (6, 72, 20, 2, 32),
]


def call(shape: Shape, points: str, **attrs: Any) -> Call:
    *_, bits, size = shape
    operands = exact_layer(shape, points)
    return Call(blockwise_dense, operands, {"bits": bits, "block_size": size, **attrs})


@each_register
def test_layers_are_the_references(place: Place) -> None:
    calls = [call(shape, POINTS[number % 4]) for number, shape in enumerate(SHAPES * 2, 1)]
    check_calls(place, calls, CONSTANTS)


# The last two fill groups of four vectors of units.
INTEGER_SHAPES: list[Shape] = [
    (1, 64, 40, 4, 32),
    (2, 96, 150, 8, 32),
    (5, 128, 33, 4, 64),
    (9, 32, 7, 8, 16),
    (3, 48, 83, 4, 16),
    (5, 64, 37, 2, 32),
    (1, 64, 64, 4, 32),
    (1, 64, 128, 2, 32),
]


@each_product
def test_layers_of_integers_are_the_references(place: Place) -> None:
    calls = [
        call(shape, POINTS[number % 3], quantizes_data=True)
        for number, shape in enumerate(INTEGER_SHAPES * 2, 1)
    ]
    check_calls(place, calls, CONSTANTS)


def test_integers_with_zero_points_between_are_left_to_the_primitives() -> None:
    layer = call(INTEGER_SHAPES[0], "floats", quantizes_data=True)
    assert not kernels_of(lowered(layer, HASWELL, CONSTANTS))


def test_weights_that_vary_are_left_to_the_primitives() -> None:
    layer = call(SHAPES[0], "bytes")
    assert kernels_of(lowered(layer, HASWELL, CONSTANTS))
    assert not kernels_of(lowered(layer, HASWELL, CONSTANTS[:2]))


def test_weights_keep_their_bits() -> None:
    mod = lowered(call((1, 512, 256, 4, 32), "bytes"), HASWELL, CONSTANTS)
    (function,) = kernels_of(mod)
    arguments = [
        (str(each.dtype), prod(int(size) for size in each.shape)) for each in function.params[1:4]
    ]
    blocks = 256 * 512 // 32
    assert arguments == [("uint8", 256 * 512 // 2), ("float32", blocks), ("uint8", blocks)]
