from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.depthwise.arm.plan import choose_plan, split_weights
from legalize.kernels.isa.arm import ARMV7, NEON
from tests.support.convolutions import SPEC


@pytest.mark.parametrize("channels", [8, 9, 16, 23, 24, 33, 100])
def test_blocks_cover_the_channels(channels: int) -> None:
    spec = replace(SPEC, in_channels=channels, out_channels=channels)
    parts = split_weights(np.ones((3, 3, channels), np.int64))
    for isa in (NEON, ARMV7):
        plan = choose_plan(spec, isa, parts)
        lanes = plan.lane_channels().ravel()
        assert set(lanes) == set(range(channels))
        assert lanes.size == sum(part.blocks * part.width for part in plan.sections)


def test_weights_of_nine_bits_are_sums_of_int8() -> None:
    centred = np.array([-255, -128, 0, 127, 255]).reshape(1, 1, 5)
    parts = split_weights(centred)
    assert len(parts) == 3
    np.testing.assert_array_equal(sum(parts), centred)
    assert min(part.min() for part in parts) >= -128
    assert max(part.max() for part in parts) <= 127
    assert len(split_weights(centred[..., 1:4])) == 1


def test_sums_of_16_bits_hold_every_group() -> None:
    rng = np.random.default_rng(0)
    centred = rng.integers(-255, 256, (5, 3, 16)) // rng.integers(1, 9, 16)
    parts = split_weights(centred)
    plan = choose_plan(replace(SPEC, kernel_height=5), NEON, parts)
    assert sorted(plan.terms) == sorted(
        (ky, kx, part)
        for ky in range(5)
        for kx in range(3)
        for part in range(len(parts))
        if part == 0 or parts[part][ky, kx].any()
    )
    for terms in plan.short_sums:
        weights = np.stack([parts[part][ky, kx] for ky, kx, part in terms])
        ends = weights * -128, weights * 127
        assert np.minimum(*ends).sum(axis=0).min() >= -(2**15)
        assert np.maximum(*ends).sum(axis=0).max() < 2**15
