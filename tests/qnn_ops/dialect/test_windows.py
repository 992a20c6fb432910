import pytest
from hypothesis import given
from hypothesis import strategies as st

from qnn_ops.dialect.windows import window_count
from tests.support.errors import fails

few, some = st.integers(1, 4), st.integers(0, 3)


@given(size=st.integers(0, 20), window=few, stride=few, dilation=few, before=some, after=some)
def test_windows_are_those_whose_taps_all_lie_on_the_padded_image(
    size: int, window: int, stride: int, dilation: int, before: int, after: int
) -> None:
    padded = size + before + after
    last_taps = (first + (window - 1) * dilation for first in range(0, padded, stride))
    count = sum(tap < padded for tap in last_taps)
    if count:
        assert window_count("width", size, window, stride, dilation, before, after) == count
    else:
        extent = (window - 1) * dilation + 1
        message = f"spans {extent} pixels along the width, the padded data has {padded}"
        fails(message, window_count, "width", size, window, stride, dilation, before, after)


@pytest.mark.parametrize(
    "sizes", [(0, 1, 1, 0, 0), (1, 0, 1, 0, 0), (1, 1, 0, 0, 0), (1, 1, 1, -1, 0), (1, 1, 1, 0, -1)]
)
def test_values_out_of_range_are_named(sizes: tuple[int, int, int, int, int]) -> None:
    window, stride, dilation, before, after = sizes
    message = (
        f"along the height, .* got window {window}, stride {stride}, dilation {dilation}, "
        f"padding {before} and {after}"
    )
    fails(message, window_count, "height", 5, *sizes)
