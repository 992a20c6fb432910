from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import Taps, rows_of, taps_of
from legalize.kernels.conv2d.tiling import Section
from qnn_ops.arrays import Array

# Seven kernel rows on 17 by 17 pixels of 8 channels, with three rows of padding above and below.
TALL = ConvSpec(1, 17, 17, 8, 7, 1, 16, padding=(3, 0, 3, 0), input_zero_point=3)
WIDE = ConvSpec(1, 17, 17, 8, 1, 7, 16, padding=(0, 3, 0, 3), input_zero_point=3)


@st.composite
def specs(draw: st.DrawFn) -> ConvSpec:
    few, pads = st.integers(1, 3), st.integers(0, 3)
    kernel, dilation = draw(st.tuples(few, few)), draw(st.tuples(few, few))
    padding, edges = draw(st.tuples(*[pads] * 4)), draw(st.tuples(*[pads] * 4))
    least = [
        max(1, dilation[i] * (kernel[i] - 1) + 1 - padding[i] - padding[i + 2]) for i in range(2)
    ]
    height, width = (
        max(least[i] + draw(st.integers(0, 6)), edges[i] + edges[i + 2] + 1) for i in range(2)
    )
    return ConvSpec(
        *(draw(few), height, width, 4, *kernel, 16),
        strides=draw(st.tuples(few, few)),
        padding=padding,
        dilation=dilation,
        edges=edges,
    )


def reads_data(spec: ConvSpec) -> Array:
    """Tell for each output pixel, by rows, which taps have data under them: [pixels, KH, KW]."""
    top, left, bottom, right = spec.edges
    rows = np.zeros(spec.in_height, bool)
    rows[top : spec.in_height - bottom] = True
    columns = np.zeros(spec.in_width, bool)
    columns[left : spec.in_width - right] = True
    above, before, below, behind = spec.padding
    is_data = np.pad(np.outer(rows, columns), ((above, below), (before, behind)))
    found = []
    for y in range(spec.out_height):
        for x in range(spec.out_width):
            down = y * spec.strides[0] + np.arange(spec.kernel_height) * spec.dilation[0]
            across = x * spec.strides[1] + np.arange(spec.kernel_width) * spec.dilation[1]
            found.append(is_data[np.ix_(down, across)])
    return np.tile(np.array(found), (spec.batch, 1, 1))


@given(specs(), st.booleans(), st.integers(1, 12))
def test_a_tile_multiplies_all_taps_that_have_data_under_them(
    spec: ConvSpec, down: bool, mr: int
) -> None:
    mr = min(mr, spec.out_pixels)
    needed: Array = np.asarray(reads_data(spec).any(axis=1 if down else 2))  # [pixels, taps]
    if down:
        shape = spec.batch, spec.out_height, spec.out_width, -1
        needed = needed.reshape(shape).transpose(0, 2, 1, 3).reshape(len(needed), -1)
    # Whether a row has data under its taps does not depend on the columns, unless none has any.
    has_any: Array = np.asarray(needed.any(axis=1))
    for number, (low, high) in enumerate(Taps(spec, down).ranges(mr)):
        first = min(number * mr, spec.out_pixels - mr)
        tile: Array = np.asarray(needed[first : first + mr].any(axis=0))
        assert not tile[:low].any()
        assert not tile[high:].any()
        if has_any[first : first + mr].all():
            assert tile[low]
            assert tile[high - 1]


def test_a_pixel_at_the_edge_leaves_out_what_lies_in_the_padding() -> None:
    (taps,) = taps_of(TALL)
    assert not taps.down
    rows = [taps.ranges(17)[y].tolist() for y in (0, 1, 3, 13, 16)]
    assert rows == [[3, 7], [2, 7], [0, 7], [0, 7], [0, 4]]
    # Twelve of 119.
    assert taps.share(17) == pytest.approx(107 / 119)


def test_columns_are_left_out_of_pixels_numbered_down_them() -> None:
    (taps,) = taps_of(WIDE)
    assert taps.down
    np.testing.assert_array_equal(taps.ranges(5), Taps(TALL, down=False).ranges(5))


def test_a_tile_of_two_rows_multiplies_what_either_needs() -> None:
    # Pixels 12 to 23 are of the first two rows.
    assert Taps(TALL, down=False).ranges(12)[1].tolist() == [2, 7]


def test_edges_of_the_data_count_as_padding() -> None:
    inside = replace(TALL, in_height=23, padding=(0, 0, 0, 0), edges=(3, 0, 3, 0))
    (taps,) = taps_of(inside)
    np.testing.assert_array_equal(taps.ranges(4), taps_of(TALL)[0].ranges(4))


@pytest.mark.parametrize(
    "spec",
    [
        replace(TALL, padding=(0, 0, 0, 0)),
        replace(TALL, in_height=400),
        # A column is no whole K-step.
        replace(WIDE, in_channels=6),
    ],
)
def test_what_is_not_worth_it_is_left(spec: ConvSpec) -> None:
    assert taps_of(spec) == []


def test_kernels_of_rows_leave_out_no_columns() -> None:
    assert rows_of(TALL) == Taps(TALL, down=False)
    assert rows_of(WIDE) is None


def test_ranges_of_sections_follow_one_another() -> None:
    taps = Taps(TALL, down=False)
    tiling = Section(0, 2, 2, 12), Section(4, 1, 1, 5)
    ranges = taps.ranges_of(tiling)
    np.testing.assert_array_equal(ranges[:25], taps.ranges(12))
    np.testing.assert_array_equal(ranges[25:], taps.ranges(5))


def test_what_taps_add_in_the_padding() -> None:
    kernel = np.arange(16 * 7 * 8).reshape(16, 7, 1, 8)
    sums = Taps(TALL, down=False).sums(kernel)
    assert sums.shape == (8, 16)
    assert sums.dtype == np.int32
    assert sums[0].tolist() == [0] * 16
    np.testing.assert_array_equal(sums[2], 3 * kernel[:, :2].sum(axis=(1, 2, 3)))
