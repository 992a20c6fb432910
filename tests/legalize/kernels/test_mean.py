from typing import Any

import numpy as np
import pytest

from qnn_ops import quantized_mean
from tests.support.arrays import full_range
from tests.support.kernels import Call, Place, check_calls, each_register, kernels_of, lowered


def random_mean(
    rng: np.random.Generator, shape: tuple[int, ...], axis: list[int], ratio: float = 0.37
) -> Call:
    dtype, out_dtype = rng.choice(["int8", "uint8"], 2).tolist()
    scale = float(np.exp2(rng.uniform(-6, -3)))
    attrs = {
        "axis": axis,
        "keepdims": bool(rng.integers(2)),
        "input_scale": scale,
        "input_zero_point": int(full_range(rng, dtype, ())),
        "output_scale": scale * ratio,
        "output_zero_point": int(full_range(rng, out_dtype, ())),
        "out_dtype": out_dtype,
    }
    return Call(quantized_mean, [full_range(rng, dtype, shape)], attrs)


@each_register
def test_means_of_rows_and_columns(place: Place) -> None:
    rng = np.random.default_rng(1)
    check_calls(
        place,
        [
            random_mean(rng, shape, axis, ratio)
            for shape, axis, ratio in [
                ((1, 7, 7, 40), [1, 2], 1.0),
                ((2, 5, 3, 33), [1, 2], 0.5),
                # More values than a sum of 16 bits holds.
                ((1, 30, 31, 16), [2, 1], 0.37),
                ((3, 4, 100), [2], 0.37),
                ((600,), [0], 0.37),
                ((3, 1, 5, 1), [2], 1.0),
                # Images small enough for LLVM to unroll.
                ((1, 1, 2, 5), [1, 2], 0.5),
                ((1, 1, 3, 1), [1, 2], 0.37),
                ((1, 1, 1, 6), [1, 2], 0.37),
                # Everything saturates.
                ((2, 3, 4), [0], 2.0**-20),
            ]
        ],
    )


@each_register
def test_means_in_float32(place: Place) -> None:
    rng = np.random.default_rng(4)
    calls = [
        random_mean(rng, shape, [1, 2], ratio)
        for shape, ratio in [
            # Powers of two have ties.
            ((1, 8, 8, 70), 0.125),
            ((2, 7, 7, 33), 0.37),
            ((1, 30, 31, 16), 0.05),
            ((1, 1, 1, 6), 1.0),
            ((2, 3, 4, 5), 2.0**-20),
        ]
    ]
    check_calls(
        place,
        [
            Call(call.operator, call.operands, {**call.attrs, "arithmetic": "onnxruntime"})
            for call in calls
        ],
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@each_register
def test_sums_of_the_largest_values(place: Place, dtype: str) -> None:
    call = random_mean(np.random.default_rng(2), (1, 1024, 3), [1])
    ends = np.iinfo(dtype)
    data = np.full((1, 1024, 3), ends.max, dtype)
    data[..., 1] = ends.min
    attrs = {**call.attrs, "input_zero_point": 0, "output_scale": call.attrs["input_scale"]}
    check_calls(place, [Call(quantized_mean, [data], attrs)])


@pytest.mark.parametrize("axis", [[0, 2], []])
def test_other_axes_are_left_to_the_primitives(axis: Any) -> None:
    call = random_mean(np.random.default_rng(3), (2, 3, 4, 5), axis)
    assert not kernels_of(lowered(call, {"kind": "llvm", "mcpu": "haswell"}))
