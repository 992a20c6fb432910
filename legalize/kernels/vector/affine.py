"""Sums of two quantized tensors as one integer affine form.

Such a sum is nearly (lhs·l + rhs·r + addend) >> shift; the reference's three roundings differ
from that only where the exact sum is close to the middle of two results. Two 8-bit operands make
65,536 pairs only, so whether given factors are exact is simply tried: for each pair the addend
must be in an interval, and the factors serve if all the intervals have a number in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.attributes import dtype_range
from qnn_ops.registry import Attrs, Operator

Array = np.ndarray[Any, Any]

# The form is computed in int32; some room for the search beside the rounded factors.
_LIMIT = 2**31 - 2**12
# Kernels take a factor apart into two signed 16-bit halves.
_FACTOR_LIMIT = 2**30
_RADIUS = 5
_UNBOUNDED = 1 << 40


@dataclass(frozen=True)
class AffineForm:
    """(lhs·l + rhs·r + addend) >> shift, before the clamp, in int32.

    ``l`` and ``r`` are the operands less the lowest value of their dtypes: 0 to 255.
    """

    lhs: int
    rhs: int
    addend: int
    shift: int


def affine_form(
    operator: Operator[Any], attrs: Attrs, dtypes: tuple[str, str], sign: int
) -> AffineForm | None:
    """Find a form that equals lhs + ``sign``·rhs for every pair of operands.

    Args:
        operator: whose reference tells what the sum is.
        attrs: of the call.
        dtypes: of lhs and rhs.
        sign: 1 or -1.

    Returns:
        The form, or None where none near the real factors is exact.
    """
    values = [np.arange(*_half_open(dtype)).astype(dtype) for dtype in dtypes]
    exact = operator.apply(attrs, values[0][:, None], values[1][None, :]).astype(np.int64)
    real = attrs.lhs_scale / attrs.output_scale, sign * attrs.rhs_scale / attrs.output_scale
    zero_points = attrs.lhs_zero_point, attrs.rhs_zero_point
    constant = attrs.output_zero_point - sum(
        factor * (zero_point - dtype_range(dtype)[0])
        for factor, zero_point, dtype in zip(real, zero_points, dtypes, strict=True)
    )
    shift = _most_precise(real, constant)
    if shift < 0:
        return None
    nearest = [round(factor * 2**shift) for factor in real]
    # Saturated results bound the addend on one side only.
    highest = np.where(exact < attrs.out_max, ((exact + 1) << shift) - 1, _UNBOUNDED)
    lowest = np.where(exact > attrs.out_min, exact << shift, -_UNBOUNDED)
    steps = np.arange(256)
    for left, right in _by_distance():
        lhs, rhs = nearest[0] + left, nearest[1] + right
        products = lhs * steps[:, None] + rhs * steps[None, :]
        low, high = int((lowest - products).max()), int((highest - products).min())
        addend = (low + high) // 2
        if low <= high and abs(addend) + 255 * (abs(lhs) + abs(rhs)) < 2**31:
            return AffineForm(lhs, rhs, addend, shift)
    return None


def _half_open(dtype: str) -> tuple[int, int]:
    low, high = dtype_range(dtype)
    return low, high + 1


def _most_precise(factors: tuple[float, float], constant: float) -> int:
    """The largest shift at which nothing overflows; -1 if there is none."""
    largest = 255 * sum(map(abs, factors)) + abs(constant) + 1
    fits = [
        shift
        for shift in range(31)
        if largest * 2**shift < _LIMIT and max(map(abs, factors)) * 2**shift < _FACTOR_LIMIT
    ]
    return max(fits, default=-1)


def _by_distance() -> Iterator[tuple[int, int]]:
    """Small pairs of integers, the smallest first."""
    around = range(-_RADIUS, _RADIUS + 1)
    pairs = [(left, right) for left in around for right in around]
    return iter(sorted(pairs, key=lambda pair: (max(map(abs, pair)), pair)))
