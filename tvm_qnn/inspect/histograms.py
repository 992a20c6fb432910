"""How the values of a tensor are spread, and how the ranges of its channels are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from frontends.summary import TensorNote

Array = np.ndarray[Any, Any]

_BINS = 32
_FEWEST = 16  # values; fewer say more as numbers
_QUANTIZED = ("int8", "uint8", "int16")  # types whose values all mean something


class Histogram(NamedTuple):
    """Counts of values in bins of one width.

    Attributes:
        low: where the first bin begins; of integers, the lowest one.
        high: where the last bin ends; of integers, the highest one.
        counts: of each bin.
    """

    low: float
    high: float
    counts: tuple[int, ...]


def histogram(values: Array) -> Histogram | None:
    """Count values; None for few, and for what are no numbers.

    A bin of integers has as many of them as any other, so that none sticks out by its width.
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
    """Return the lowest and the highest real value that a tensor of one scale can have."""
    if len(note.scales) != 1 or note.dtype not in _QUANTIZED:
        return None
    lows, highs = _ends(note)
    return lows[0].item(), highs[0].item()


def channel_ranges(note: TensorNote) -> Histogram | None:
    """Count channels by the largest magnitude that their scale and zero point reach."""
    if len(note.scales) < 2 or note.dtype not in _QUANTIZED:
        return None
    lows, highs = _ends(note)
    return histogram(np.maximum(-lows, highs))


def _ends(note: TensorNote) -> tuple[Array, Array]:
    limits = np.iinfo(note.dtype)
    scales, zero_points = np.array(note.scales, np.float64), np.array(note.zero_points, np.int64)
    return (limits.min - zero_points) * scales, (limits.max - zero_points) * scales
