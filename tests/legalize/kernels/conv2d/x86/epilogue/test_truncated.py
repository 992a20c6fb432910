"""Requantization by float32 steps, if they give the same integers: a floor, or truncation."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from legalize.kernels.conv2d.x86.epilogue.base import Scales
from legalize.kernels.conv2d.x86.epilogue.truncated import Floor, Truncated
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.epilogue.test_fixed_point import SPEC
from tests.support.convolutions import changed
from tests.support.epilogues import LANES, accumulators, check_epilogue, offered
from tests.support.x86 import needs_vnni

BOUND = (1 << 30) - 1


@needs_vnni
@pytest.mark.parametrize(
    ("epilogue", "change", "shifts"),
    [
        (Floor, change, shifts)
        for change in (
            {"low": -3},
            {"low": 20},
            {"rounding": "upward", "low": -128},
            {"rounding": "upward", "low": -3},
        )
        for shifts in ((-9, -6), (-5, -1))
    ]
    + [
        (Truncated, {"low": low, "high": high}, shifts)
        for low, high in ((-128, 127), (-3, 127), (-100, -20), (10, 90))
        for shifts in ((-11, -6), (-5, -1))
    ],
)
@pytest.mark.parametrize("bound", [BOUND, 3000])
def test_equals_fixed_point_around_every_step(
    epilogue: Any, change: dict[str, object], shifts: tuple[int, int], bound: int
) -> None:
    spec = changed(SPEC, **change)
    rng = np.random.default_rng(0)
    scales, share = offered(epilogue, spec, rng, shifts, bound)
    assert share > 0.3
    check_epilogue(epilogue, spec, scales, accumulators(spec, scales, rng))


@needs_vnni
@pytest.mark.parametrize("epilogue", [Floor, Truncated])
@pytest.mark.parametrize("factor", [64, 576])
def test_takes_accumulators_that_are_a_factor_too_large(epilogue: Any, factor: int) -> None:
    spec, rng = changed(SPEC, low=-3), np.random.default_rng(1)
    # Times the factor, with the offsets that go with these shifts, they fit into 32 bits.
    scales, share = offered(epilogue, spec, rng, (-9, -6), 3_000_000, factor)
    assert share > 0.3
    assert scales.factor == factor
    check_epilogue(epilogue, spec, scales, accumulators(spec, scales, rng))
    wide = replace(scales, bounds=2**31 // factor + 1)
    assert epilogue.choose(spec.output, wide, LANES) is None


def test_offers_nothing_where_no_line_passes() -> None:
    spec = changed(SPEC, low=-3)
    rng = np.random.default_rng(0)
    # Where a step of the output is 100,000 accumulators, 24 bits of a slope are too few.
    _, share = offered(Floor, spec, rng, (-17, -17), BOUND)
    assert share < 0.2


@pytest.mark.parametrize(
    ("change", "shift", "bound", "lanes"),
    [
        ({"dtype": "int32"}, -8, 1000, LANES),
        ({}, 1, 1000, LANES),
        ({}, -21, 1000, LANES),
        ({}, -8, 1 << 30, LANES),
        ({}, -8, 1000, LANES.reshape(-1, 8)),
        # Two addends would be needed.
        ({"low": -128}, -8, 100_000, LANES),
    ],
)
def test_serves_bytes_of_avx512(
    change: dict[str, object], shift: int, bound: int, lanes: Array
) -> None:
    multiplier = np.full(64, (1 << 30) + 12345, np.int32)
    scales = Scales(multiplier, np.full(64, shift, np.int32), 0 * multiplier, bound)
    assert Floor.choose(changed(SPEC, **{"low": -3, **change}).output, scales, lanes) is None


@pytest.mark.parametrize(
    ("change", "multiplier", "shift"),
    [
        ({"dtype": "int32"}, (1 << 30) + 12345, -8),
        ({}, (1 << 30) + 12345, 1),
        # Ties of the first rounding go up, below zero, too.
        ({}, 1 << 30, -8),
    ],
)
def test_serves_two_roundings_without_ties(
    change: dict[str, object], multiplier: int, shift: int
) -> None:
    factors = np.full(64, multiplier, np.int32)
    scales = Scales(factors, np.full(64, shift, np.int32), 0 * factors, BOUND)
    assert Truncated.choose(changed(SPEC, **change).output, scales, LANES) is None
