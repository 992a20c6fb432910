from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from legalize.kernels.conv2d.x86.winograd.transform import (
    Transform,
    product_of,
    stays_in_range,
    transform_of,
    transform_weights,
    wraps_back,
)
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.test_kernel import SPEC
from tests.support.convolutions import changed

WINDOWS = [(3, 3), (1, 3), (3, 1)]


def transform_for(window: tuple[int, int], *, has_dots: bool = False) -> Transform:
    spec = replace(SPEC, kernel_height=window[0], kernel_width=window[1])
    transform = transform_of(spec, has_dots=has_dots)
    assert transform is not None
    return transform


def transformed(transform: Transform, tile: Array) -> Array:
    """Return the data of a tile: [rows, columns, channels]."""
    rows = np.einsum("ia,abc->ibc", product_of(transform.y.data), tile.astype(np.int64))
    both = np.einsum("jb,ibc->ijc", product_of(transform.x.data), rows)
    return np.asarray(both.reshape(transform.positions, -1))


def outputs(transform: Transform, sums: Array) -> Array:
    """Return the outputs of a tile, row after row, of its sums [positions]."""
    return np.asarray(np.kron(np.array(transform.y.outputs), np.array(transform.x.outputs)) @ sums)


@pytest.mark.parametrize(
    ("window", "has_dots"), [*((one, False) for one in WINDOWS), ((3, 3), True)]
)
def test_sums_are_multiples_of_the_convolution(window: tuple[int, int], has_dots: bool) -> None:
    transform = transform_for(window, has_dots=has_dots)
    rng = np.random.default_rng(0)
    for _ in range(20):
        tile = rng.integers(0, 256, (transform.y.extent, transform.x.extent, 5))
        kernel = rng.integers(-255, 256, (1, *window, 5))
        weights = transform_weights(transform, kernel)[0].astype(np.int64)
        found = outputs(transform, (transformed(transform, tile) * weights).sum(axis=1))
        for number, (i, j) in enumerate(
            np.ndindex(transform.y.tile_outputs, transform.x.tile_outputs)
        ):
            patch = tile[i : i + window[0], j : j + window[1]]
            wanted = (patch * kernel[0]).sum()
            assert found[number] == wanted * transform.scale
            shifted = int(found[number]) * transform.inverse % 2**32
            assert shifted == int(wanted) << transform.scale_bits & (2**32 - 1)


@pytest.mark.parametrize(
    ("window", "has_dots", "products", "of"),
    [((3, 3), False, 16, 36), ((1, 3), False, 4, 6), ((3, 3), True, 36, 144)],
)
def test_products_are_saved(
    window: tuple[int, int], has_dots: bool, products: int, of: int
) -> None:
    transform = transform_for(window, has_dots=has_dots)
    assert transform.positions == products
    assert transform.y.tile_outputs * transform.x.tile_outputs * window[0] * window[1] == of


@pytest.mark.parametrize("window", WINDOWS)
def test_bounds_of_data_are_reached_and_not_passed(window: tuple[int, int]) -> None:
    transform = transform_for(window)
    reached = np.zeros(transform.positions, np.int64)
    rng = np.random.default_rng(0)
    signs = np.kron(product_of(transform.y.data), product_of(transform.x.data))
    tiles = [255 * (sign * row > 0) for row in signs for sign in (1, -1)]
    tiles += list(rng.integers(0, 256, (100, transform.positions)))
    for values in tiles:
        tile = values.reshape(transform.y.extent, transform.x.extent, 1)
        reached = np.maximum(reached, abs(transformed(transform, tile)[:, 0]))
    np.testing.assert_array_equal(reached, transform.data_bounds)


@pytest.mark.parametrize(
    ("window", "has_dots"), [*((one, False) for one in WINDOWS), ((3, 3), True)]
)
def test_one_position_is_added_to_every_output_once(
    window: tuple[int, int], has_dots: bool
) -> None:
    transform = transform_for(window, has_dots=has_dots)
    sums = np.zeros(transform.positions, np.int64)
    sums[transform.shared_position] = 7
    assert (outputs(transform, sums) == 7).all()


def test_weights_take_sixteen_bits_at_their_largest() -> None:
    kernel = np.full((1, 3, 3, 1), -255)
    weights = transform_weights(transform_for((3, 3)), kernel)
    assert weights.dtype == np.int16
    assert weights.min() == -255 * 9


def test_sums_that_could_leave_int32_are_seen() -> None:
    transform = transform_for((3, 3))

    def fits(channels: int) -> bool:
        return stays_in_range(transform, transform_weights(transform, kernel[..., :channels]))

    kernel = np.full((1, 3, 3, 1000), 127)
    # Nine positions make an output. Along an axis weights become 2, 3 and 1 times themselves;
    # data 510 at most, except for 1020 where it is only added.
    one = 127 * (510 * (2 + 3 + 1) ** 2 + (1020 - 510) * 3**2)
    most = (2**31 - 1) // one
    assert fits(most)
    assert not fits(most + 1)


def test_data_of_larger_tiles_takes_sixteen_bits() -> None:
    assert transform_for((3, 3), has_dots=True).data_bounds.max() < 2**15


def test_outputs_that_could_not_come_back_are_seen() -> None:
    transform = transform_for((3, 3), has_dots=True)
    kernel = np.full((1, 3, 3, 2000), 127)
    most = (2**31 - 1 >> 6) // (255 * 9 * 127)
    for sign in (1, -1):
        assert wraps_back(transform, sign * kernel[..., :most])
        assert not wraps_back(transform, sign * kernel[..., : most + 1])
    # Weights of both signs make no sum as large as all of them.
    assert wraps_back(transform, np.concatenate([kernel[..., :most], -kernel[..., :most]], axis=3))


def test_weights_that_do_not_fit_sixteen_bits_are_seen() -> None:
    transform = transform_for((3, 3), has_dots=True)
    kernel = np.zeros((1, 3, 3, 1), np.int16)
    kernel[0, 2, 2] = -128
    assert wraps_back(transform, kernel)
    kernel[0, 2, 2] = 255
    assert not wraps_back(transform, kernel)


@pytest.mark.parametrize("window", [(1, 3), (3, 1)])
def test_beside_dots_one_axis_saves_nothing(window: tuple[int, int]) -> None:
    spec = replace(SPEC, kernel_height=window[0], kernel_width=window[1])
    assert transform_of(spec, has_dots=True) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"strides": (2, 1)},
        {"strides": (1, 2)},
        {"dilation": (1, 2)},
        {"kernel_height": 5},
        {"kernel_height": 2},
        {"kernel_height": 1, "kernel_width": 1},
        {"in_height": 3},
        {"in_width": 3},
    ],
)
def test_other_convolutions_have_none(changes: dict[str, Any]) -> None:
    assert transform_of(SPEC) is not None
    assert transform_of(changed(SPEC, **changes)) is None
