"""Histograms of a tensor's values, and of the ranges of its channels."""

from typing import NamedTuple

import numpy as np

from frontends.summary import TensorNote

_BINS = 32
_FEWEST = 16  # values; the page shows fewer values as numbers
_QUANTIZED = ("int8", "uint8", "int16")  # types of integers that stand for real values


class Histogram(NamedTuple):
    """Counts of values in bins of one width.

    Attributes:
        low: the lower end of the first bin; for integers, the lowest integer in it.
        high: the upper end of the last bin; for integers, the highest integer in it.
        counts: the number of values in each bin.
    """

    low: float
    high: float
    counts: tuple[int, ...]


def histogram(values: np.ndarray) -> Histogram | None:
    """Count values; None for few values, and for values that are not numbers.

    Each bin has room for equally many integers, so that no bin is higher only since it is wider.
    """
    flat = values.ravel()
    if flat.dtype.kind == "f":
        flat = flat[np.isfinite(flat)].astype(np.float64)
    if flat.dtype.kind not in "iuf" or flat.size < _FEWEST:
        return None
    low, high = flat.min().item(), flat.max().item()
    bins, ends = _BINS, (low, high)
    if flat.dtype.kind in "iu":
        width = -(-(high - low + 1) // _BINS)
        bins = -(-(high - low + 1) // width)
        high = low + bins * width - 1
        ends = (low - 0.5, high + 0.5)
    counts, _ = np.histogram(flat, bins, ends)
    return Histogram(low, high, tuple(counts.tolist()))


def real_range(note: TensorNote) -> tuple[float, float] | None:
    """Return the lowest and the highest real value of a tensor with one scale."""
    if len(note.scales) != 1 or note.dtype not in _QUANTIZED:
        return None
    lows, highs = _ends(note)
    return lows[0].item(), highs[0].item()


def channel_ranges(note: TensorNote) -> Histogram | None:
    """Count channels by the largest magnitude that their scale and zero point allow."""
    if len(note.scales) < 2 or note.dtype not in _QUANTIZED:
        return None
    lows, highs = _ends(note)
    return histogram(np.maximum(-lows, highs))


def _ends(note: TensorNote) -> tuple[np.ndarray, np.ndarray]:
    limits = np.iinfo(note.dtype)
    scales, zero_points = np.array(note.scales, np.float64), np.array(note.zero_points, np.int64)
    return (limits.min - zero_points) * scales, (limits.max - zero_points) * scales
