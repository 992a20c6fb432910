"""Sums of two quantized tensors as one integer affine form.

Such a sum is nearly (lhs·l + rhs·r + addend) >> shift. The reference's three roundings differ from
this form only if the exact sum is close to the middle of two results. Two 8-bit operands make only
65,536 pairs, so candidate factors are simply tried. Each pair requires an addend in some interval.
The factors serve if all intervals have a number in common. If the scales make many sums ties, which
round away from zero, sums below zero may need another addend.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.base import AffineForm
from qnn_ops.arithmetic.xnnpack import sum_terms
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import Attrs, Operator

# The form is computed in int32. This leaves some room for the search near the rounded factors.
_LIMIT = 2**31 - 2**12
# Kernels split a factor into two signed 16-bit halves.
_FACTOR_LIMIT = 2**30
_RADIUS = 5
_UNBOUNDED = 1 << 40


def affine_form(
    operator: Operator[Any], attrs: Attrs, dtypes: tuple[str, str], sign: int
) -> AffineForm | None:
    """Find a form that equals lhs + ``sign``·rhs for every pair of operands.

    Args:
        operator: its reference defines the sum.
        attrs: the call's attributes.
        dtypes: the dtypes of lhs and rhs.
        sign: 1 or -1.

    Returns:
        The form, or None if none near the real factors is exact.
    """
    values = [np.arange(*_half_open(dtype)).astype(dtype) for dtype in dtypes]
    # Shapes are equal: ONNX Runtime adds operands that broadcast in another order.
    pairs = np.meshgrid(*values, indexing="ij")
    exact = operator.apply(attrs, *pairs).astype(np.int64)
    lowest_out = dtype_range(attrs.out_dtype)[0]
    exact -= lowest_out
    real = attrs.lhs_scale / attrs.output_scale, sign * attrs.rhs_scale / attrs.output_scale
    *centre, output = zero_points(attrs, dtypes)
    constant = output - sum(factor * point for factor, point in zip(real, centre, strict=True))
    shift = _most_precise(real, constant)
    if shift < 0:
        return None
    nearest = [round(factor * 2**shift) for factor in real]
    # Saturated results bound the addend on one side only.
    sums = exact << shift
    lowest = np.where(exact > attrs.out_min - lowest_out, sums, -_UNBOUNDED)
    sums += (1 << shift) - 1
    highest = np.where(exact < attrs.out_max - lowest_out, sums, _UNBOUNDED)
    rows, columns = np.ogrid[: exact.shape[0], : exact.shape[1]]
    needs = _Needs(rows, columns, lowest, highest)
    for has_two in (False, True):
        # Pairs of operands that ruled out other factors rule out most of the rest, too.
        critical: list[int] = []
        for left, right in _by_distance():
            lhs, rhs = nearest[0] + left, nearest[1] + right
            middle = lhs * centre[0] + rhs * centre[1] if has_two else -_UNBOUNDED
            if isinstance(_addends(lhs, rhs, middle, needs.of(critical)), _Conflict):
                continue
            found = _addends(lhs, rhs, middle, needs)
            if isinstance(found, _Conflict):
                critical += found
                continue
            addend, other = found
            below = other - addend if has_two else 0
            reach = abs(addend) + abs(below) + 255 * (abs(lhs) + abs(rhs))
            if reach < 2**31:
                zero = middle + addend if has_two else 0
                return AffineForm(lhs, rhs, addend, shift, zero, below)
    return None


def stated_form(attrs: Attrs, dtypes: tuple[str, str], sign: int) -> AffineForm | None:
    """Return XNNPACK's sum as an affine form; None if int32 has no room for zero points.

    Args:
        attrs: the call's attributes.
        dtypes: the dtypes of lhs and rhs.
        sign: 1 or -1.
    """
    terms = sum_terms(attrs, sign)
    *moved, output = zero_points(attrs, dtypes)
    addend = (1 << (terms.shift - 1)) + (output << terms.shift)
    addend -= terms.first * moved[0] + terms.second * moved[1]
    if abs(addend) + 255 * (terms.first + abs(terms.second)) >= 2**31:
        return None
    return AffineForm(terms.first, terms.second, addend, terms.shift)


def zero_points(attrs: Attrs, dtypes: tuple[str, str]) -> tuple[int, int, int]:
    """Return the zero points of lhs, rhs and the output, as steps from their lowest values."""
    return (
        attrs.lhs_zero_point - dtype_range(dtypes[0])[0],
        attrs.rhs_zero_point - dtype_range(dtypes[1])[0],
        attrs.output_zero_point - dtype_range(attrs.out_dtype)[0],
    )


class _Conflict(tuple[int, int]):
    """Two pairs of operands, by index, that no addend serves together."""


class _Needs(NamedTuple):
    """What pairs of operands need: int64 arrays whose shapes broadcast.

    Attributes:
        lhs: the left operands, as steps from the lowest value.
        rhs: the right operands, likewise.
        lowest: the least sum of each pair.
        highest: its greatest sum.
    """

    lhs: Array
    rhs: Array
    lowest: Array
    highest: Array

    def of(self, pairs: list[int]) -> "_Needs":
        """Return the needs of some pairs, by index."""
        lhs, rhs = np.divmod(np.array(pairs, np.int64), self.lowest.shape[1])
        return _Needs(lhs, rhs, self.lowest[lhs, rhs], self.highest[lhs, rhs])


def _addends(lhs: int, rhs: int, middle: int, needs: _Needs) -> tuple[int, int] | _Conflict:
    """Find an addend for the sums from ``middle`` on, and one for those below it.

    Args:
        lhs: the factor of the left operand.
        rhs: the factor of the right operand.
        middle: a sum of products.
        needs: of the pairs.

    Returns:
        The addends, 0 if there are no such sums; or two pairs that rule each other out.
    """
    products = lhs * needs.lhs + rhs * needs.rhs
    least, most = needs.lowest - products, needs.highest - products
    is_below = products < middle
    found = []
    for is_own in (~is_below, is_below):
        if not is_own.any():
            found.append(0)
            continue
        from_below = np.where(is_own, least, -_UNBOUNDED)
        from_above = np.where(is_own, most, _UNBOUNDED)
        first, second = int(from_below.argmax()), int(from_above.argmin())
        low, high = int(from_below.flat[first]), int(from_above.flat[second])
        if low > high:
            return _Conflict((first, second))
        found.append((low + high) // 2)
    return found[0], found[1]


def _half_open(dtype: str) -> tuple[int, int]:
    low, high = dtype_range(dtype)
    return low, high + 1


def _most_precise(factors: tuple[float, float], constant: float) -> int:
    """Return the largest shift at which nothing overflows; -1 if there is none."""
    largest = 255 * sum(map(abs, factors)) + abs(constant) + 1
    fits = [
        shift
        for shift in range(31)
        if largest * 2**shift < _LIMIT and max(map(abs, factors)) * 2**shift < _FACTOR_LIMIT
    ]
    return max(fits, default=-1)


def _by_distance() -> Iterator[tuple[int, int]]:
    """Return small pairs of integers, the smallest first."""
    around = range(-_RADIUS, _RADIUS + 1)
    pairs = [(left, right) for left in around for right in around]
    return iter(sorted(pairs, key=lambda pair: (max(map(abs, pair)), pair)))
