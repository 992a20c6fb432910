"""The shape and arithmetic of a product of matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from legalize.kernels.conv2d.constants import unique
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.ir.vectors import Array
from qnn_ops.arithmetic.sums import dense_factor
from qnn_ops.dialect.attributes import QUANTIZED, dtype_range
from qnn_ops.dialect.registry import Attrs, constant_of, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.quantized.matmul import matmul_multiplier

_FLIP = 128

# Sums of this depth, with all corrections for zero points, fit half of int32: see conv2d/calls.py.
_MOST_DEPTH = 2**30 // (255 * (128 + 129 + 255))
_LEAST_DEPTH = 4  # a K-step


@dataclass(frozen=True)
class MatmulSpec:
    """One product of matrices, or several. Sizes may be open.

    Attributes:
        lhs_shape: [..., rows, depth].
        rhs_shape: [..., depth, columns], or [..., columns, depth] if ``is_transposed``.
        is_transposed: whether the columns of rhs are rows in memory.
        lhs_dtype: int8 or uint8.
        rhs_dtype: int8 or uint8.
        lhs_zero_point: the zero point of lhs.
        rhs_zero_point: the zero point of rhs.
        output: dtype, zero point, bounds and rounding of the outputs.
    """

    lhs_shape: tuple[int, ...]
    rhs_shape: tuple[int, ...]
    is_transposed: bool
    lhs_dtype: str
    rhs_dtype: str
    lhs_zero_point: int
    rhs_zero_point: int
    output: OutputStage

    @property
    def is_open(self) -> bool:
        """Whether any size is open."""
        return is_open((*self.lhs_shape, *self.rhs_shape))

    @property
    def batches(self) -> int:
        """The number of products, and of matrices in rhs."""
        return prod(self.rhs_shape[:-2])

    @property
    def columns(self) -> int:
        """Columns of a result."""
        return self.rhs_shape[-2 if self.is_transposed else -1]

    @property
    def depth(self) -> int:
        """Products of a sum."""
        return self.lhs_shape[-1]

    @property
    def rows(self) -> int:
        """Rows of a result; if there is one product, all rows of lhs."""
        is_one = self.lhs_shape[:-2] != self.rhs_shape[:-2]
        return prod(self.lhs_shape[:-1]) if is_one else self.lhs_shape[-2]

    @property
    def out_shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return (*self.lhs_shape[:-1], self.columns)

    @property
    def signed_zero_point(self) -> int:
        """The zero point of rhs as int8."""
        return self.rhs_zero_point - (_FLIP if self.rhs_dtype == "uint8" else 0)

    @property
    def largest(self) -> int:
        """An upper bound of the absolute value of every product."""
        ends = [
            max(abs(end - point) for end in dtype_range(dtype))
            for dtype, point in (
                (self.lhs_dtype, self.lhs_zero_point),
                (self.rhs_dtype, self.rhs_zero_point),
            )
        ]
        return ends[0] * ends[1]

    def with_shapes(self, shape_of: Callable[[Any], Any]) -> MatmulSpec:
        """Return the product with other sizes; ``shape_of`` replaces the shape of each matrix."""
        lhs, rhs = map(shape_of, (self.lhs_shape, self.rhs_shape))
        return replace(self, lhs_shape=lhs, rhs_shape=rhs)

    def dense(self, staged_dtype: str) -> ConvSpec:
        """Describe one product as a dense layer of data that is staged."""
        return ConvSpec(
            self.rows,
            1,
            1,
            self.depth,
            1,
            1,
            self.columns,
            in_dtype=self.lhs_dtype,
            input_zero_point=self.lhs_zero_point,
            has_asymmetric_kernel=self.signed_zero_point != 0,
            staged_dtype=staged_dtype,
            output=self.output,
        )

    def all_rows(self, dense: ConvSpec) -> ConvSpec:
        """Describe the rows of all products as rows of one dense layer."""
        return replace(dense, batch=self.batches * self.rows)


@dataclass(frozen=True, eq=False)
class MatmulCall:
    """A product with its multipliers and biases, one for each column; one if columns are open.

    Attributes:
        spec: the product's spec.
        factor: a step of the sums in steps of the result.
        multiplier: the factor in fixed point, or unchanged if the rounding uses floats.
        shift: the multiplier's shift.
        bias: int32, added to the sums.
    """

    spec: MatmulSpec
    factor: Array
    multiplier: Array
    shift: Array
    bias: Array


def matmul_call(attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr) -> MatmulCall | None:
    """Describe a call of ``quantized_matmul``; None if no kernel computes it."""
    points, output = (attrs.lhs_zero_point, attrs.rhs_zero_point), OutputStage.of(attrs)
    return _described(lhs, rhs, attrs.transpose_rhs, points, output, matmul_multiplier(attrs), None)


def dense_call(
    attrs: Attrs, data: relax.Expr, weights: relax.Expr, bias: relax.Expr | None = None
) -> MatmulCall | None:
    """Describe a ``quantized_dense`` of computed weights; None if no kernel serves it."""
    points = unique(attrs.kernel_zero_point)
    added = None if bias is None else constant_of(bias)
    if constant_of(weights) is not None or points.size > 1 or (added is None) != (bias is None):
        return None
    zero_points, output = (attrs.input_zero_point, int(points[0])), OutputStage.of(attrs)
    factor = dense_factor(attrs, "int8")
    return _described(data, weights, True, zero_points, output, factor, added)


def _described(
    lhs: relax.Expr,
    rhs: relax.Expr,
    is_transposed: bool,
    zero_points: tuple[int, int],
    output: OutputStage,
    factor: Array,
    bias: Array | None,
) -> MatmulCall | None:
    left, right = spec_of(lhs), spec_of(rhs)
    outer, columns = right.shape[:-2], right.shape[-2 if is_transposed else -1]
    depth = left.shape[-1]
    is_served = (
        {left.dtype, right.dtype, output.dtype} <= set(QUANTIZED)
        and 0 not in (*left.shape, *right.shape)
        and len(left.shape) > 1
        and (is_open([depth]) or _LEAST_DEPTH <= depth <= _MOST_DEPTH)
        # Matrices of lhs that share a matrix of rhs are merged; nothing else broadcasts.
        and (prod(outer) == 1 or left.shape[:-2] == outer)
        and len(outer) <= len(left.shape[:-2])
        and (bias is None or bool((np.abs(bias.astype(np.int64)) < 2**30).all()))
    )
    if not is_served:
        return None
    spec = MatmulSpec(
        left.shape,
        right.shape,
        is_transposed,
        left.dtype,
        right.dtype,
        *zero_points,
        output,
    )
    count = 1 if is_open([columns]) else columns
    factors = np.broadcast_to(np.asarray(factor).reshape(-1), (count,))
    multiplier, shift = output.rule.constants(factors)
    added = np.zeros(count, np.int32) if bias is None else bias
    constants = np.asarray(multiplier, output.rule.dtype), np.full(count, shift, np.int32)
    return MatmulCall(spec, factors, *constants, added)
