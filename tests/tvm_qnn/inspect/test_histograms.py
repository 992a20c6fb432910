import numpy as np
import pytest

from frontends.summary import TensorNote
from tvm_qnn.inspect.histograms import channel_ranges, histogram, real_range


def test_bins_hold_every_integer_once() -> None:
    values = np.arange(-128, 128, dtype=np.int8)
    found = histogram(values)
    assert found == (-128, 127, (8,) * 32)
    narrow = histogram(np.arange(20, dtype=np.int32).repeat(3))
    assert narrow == (0, 19, (3,) * 20)
    values = np.random.default_rng(1).integers(-100, 91, 1000).astype(np.int8)
    found = histogram(values)
    assert found is not None
    assert sum(found.counts) == 1000
    width = (found.high - found.low + 1) // len(found.counts)
    first = values[values < values.min() + width].size
    assert (found.low, found.counts[0]) == (values.min(), first)
    values = np.array([np.nan, np.inf, *np.linspace(-1, 1, 64)], np.float16)
    found = histogram(values)
    assert found is not None
    assert (found.low, found.high, sum(found.counts)) == (-1, 1, 64)
    extreme = np.array([-3e38, 3e38] * 8, np.float32)
    assert histogram(extreme) is not None


@pytest.mark.parametrize("values", [np.zeros(15, np.int8), np.zeros(99, bool), np.zeros(99, "V2")])
def test_few_values_and_what_are_no_numbers_have_none(values: np.ndarray) -> None:
    assert histogram(values) is None


def test_ranges_are_those_of_scale_and_zero_point() -> None:
    note = TensorNote(0, "x", (1, 4), "uint8", scales=(0.5,), zero_points=(128,))
    assert real_range(note) == (-64, 63.5)
    assert channel_ranges(note) is None
    scales = tuple(float(n) for n in range(1, 33))
    weights = TensorNote(0, "w", (32,), "int8", scales=scales, zero_points=(0,) * 32)
    assert real_range(weights) is None
    assert channel_ranges(weights) == (128, 128 * 32, (1,) * 32)
