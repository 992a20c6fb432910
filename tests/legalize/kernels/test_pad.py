import numpy as np
import pytest

from legalize.kernels.pad import merged_axes
from qnn_ops import quantized_pad
from tests.support.arrays import full_range
from tests.support.kernels import Call, Place, check_calls, each_register, kernels_of, lowered


def random_pad(rng: np.random.Generator, shape: tuple[int, ...], widths: list[int]) -> Call:
    dtype = str(rng.choice(["int8", "uint8"]))
    attrs = {"pad_width": widths, "pad_value": int(full_range(rng, dtype, ()))}
    return Call(quantized_pad, [full_range(rng, dtype, shape)], attrs)


@each_register
def test_any_axes(place: Place) -> None:
    rng = np.random.default_rng(1)
    check_calls(
        place,
        [
            random_pad(rng, shape, widths)
            for shape, widths in [
                ((1, 5, 6, 7), [0, 0, 1, 1, 2, 0, 0, 0]),
                ((2, 5, 3), [0, 0, 0, 0, 1, 70]),
                ((4,), [3, 5]),
                ((3, 64), [1, 0, 0, 0]),
                ((2, 3, 3, 8), [1, 0, 0, 1, 0, 0, 2, 2]),
            ]
        ],
    )


def test_axes_without_padding_are_one() -> None:
    widths = ((0, 0), (0, 0), (1, 2), (0, 0))
    assert merged_axes((2, 3, 4, 5), widths) == [(6, 0, 0), (20, 5, 10)]
    assert merged_axes((1, 4, 5), ((0, 0), (1, 2), (0, 0))) == [(20, 5, 10)]
    assert merged_axes((3, 4), ((1, 0), (0, 2))) == [(3, 1, 0), (4, 0, 2)]


@pytest.mark.parametrize(("shape", "widths"), [((2, 3), [0] * 4), ((0, 3), [1] * 4), ((), [])])
def test_nothing_is_left_to_the_primitives(shape: tuple[int, ...], widths: list[int]) -> None:
    call = random_pad(np.random.default_rng(2), shape, widths)
    assert not kernels_of(lowered(call, {"kind": "llvm", "mcpu": "haswell"}))
