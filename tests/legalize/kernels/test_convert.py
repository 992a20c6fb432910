from typing import Any

import numpy as np
import pytest

from qnn_ops import dequantize, quantize
from qnn_ops.arrays import Array
from tests.support.arrays import every_value, full_range
from tests.support.kernels import Call, Place, check_calls, each_register, kernels_of, lowered


def awkward(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> Array:
    """Values around the range, ties, their neighbours, NaN and infinities."""
    values = (rng.normal(size=shape) * 100 * scale).astype(np.float32)
    halves = np.array([0.5, -0.5, 1.5, -2.5, 126.5, -127.5], np.float32) * np.float32(scale)
    beside = [np.nextafter(halves, np.float32(end)) for end in (0, np.inf, -np.inf)]
    rest = np.array([np.nan, -np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40, -0.0], np.float32)
    some = np.concatenate([rest, halves, *beside])[: values.size]
    values.reshape(-1)[: some.size] = some
    return values


@each_register
def test_quantize(place: Place) -> None:
    rng = np.random.default_rng(1)
    calls = []
    for shape, scale in [((1,), 0.3), ((15,), 0.5), ((3, 33), 0.0078125), ((2, 64, 3), 0.0123)]:
        dtype = str(rng.choice(["int8", "uint8"]))
        zero_point = int(full_range(rng, dtype, ()))
        attrs = {"scale": scale, "zero_point": zero_point, "out_dtype": dtype}
        calls.append(Call(quantize, [awkward(rng, shape, scale)], attrs))
    check_calls(place, calls)


@each_register
def test_dequantize(place: Place) -> None:
    rng = np.random.default_rng(2)
    calls = [
        Call(dequantize, [every_value(dtype)[:size]], {"scale": scale, "zero_point": zero_point})
        for dtype, size, scale in [("int8", 256, 0.0123), ("uint8", 256, 3.7), ("int8", 37, 1e-30)]
        for zero_point in [int(full_range(rng, dtype, ()))]
    ]
    check_calls(place, calls)


@pytest.mark.parametrize(
    ("data", "change"),
    [
        (np.zeros((3, 2), np.float32), {"scale": [0.1, 0.2]}),
        (np.zeros((3, 2), np.float32), {"out_dtype": "int32"}),
        (np.zeros((3, 2), np.float32), {"multiplier": 10.0}),
        (np.zeros((), np.float32), {}),
        (np.zeros((0, 2), np.float32), {}),
    ],
)
def test_others_are_left_to_the_primitives(data: Array, change: dict[str, Any]) -> None:
    attrs = {"scale": 0.1, "zero_point": 0, "out_dtype": "int8", **change}
    assert not kernels_of(
        lowered(Call(quantize, [data], attrs), {"kind": "llvm", "mcpu": "haswell"})
    )
