"""Rules for softmax."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from tvm import relax, tirx

from legalize.kernels.call import call_tir
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import VectorRule
from legalize.kernels.softmax.even_rows import EvenRows, has_even_rows
from legalize.kernels.softmax.kernel import Kernel
from legalize.kernels.softmax.long_rows import LongRows
from legalize.kernels.softmax.onnxruntime import softmax_onnxruntime
from legalize.kernels.softmax.short_rows import ShortRows
from qnn_ops import quantized_softmax
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime, softmax_factor, softmax_table
from qnn_ops.dialect.registry import Attrs, Operator, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.tables.softmax import exp_table, sum_term

LEAST_EXPONENTIAL = (1 << 22) - (1 << 14)
"""Smaller exponentials, in Q0.31, give 0.

A sum is at least 1, so half a step of 1/256 is 2^22. The error of its reciprocal is far less than
the 2^14 that are subtracted.
"""

# The results of all distances take this many times as long as the result of one value.
_LONG_ROW = 128


def _softmax(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    *,
    isa: VectorIsa,
) -> relax.Expr | None:
    spec = spec_of(operands[0])
    if attrs.axis % len(spec.shape) != len(spec.shape) - 1:
        return None
    if is_open(spec.shape) and (not is_open(spec.shape[-1:]) or is_onnxruntime(attrs)):
        return None
    if 0 in spec.shape:
        return None
    if is_onnxruntime(attrs):
        return _onnxruntime(builder, attrs, operands[0], isa)
    table = exp_table(attrs.input_scale, attrs.beta)
    constants = [relax.const(array, "int32") for array in (table, sum_term(table))]
    point = attrs.output_zero_point
    distances = 1 + int(np.flatnonzero(table >= LEAST_EXPONENTIAL).max(initial=0))
    function = _function(isa, spec.shape, spec.dtype, attrs.out_dtype, point, distances)
    operands = [operands[0], *constants]
    return call_tir(builder, "softmax", function, operands, spec.shape, attrs.out_dtype)


@cache
def _function(isa: VectorIsa, shape: tuple[int, ...], *how: Any) -> tirx.PrimFunc:
    """Return the function of a shape; the other arguments are those of ``Kernel``."""
    form: type[Kernel] = ShortRows
    if is_open(shape) or shape[-1] >= _LONG_ROW:
        form = LongRows
    elif has_even_rows(isa, shape):
        form = EvenRows
    return form(isa, shape, *how).build()


def _onnxruntime(
    builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr, isa: VectorIsa
) -> relax.Expr:
    spec = spec_of(data)
    # The reference's table starts with the largest distance.
    table = softmax_table(attrs.input_scale, spec.shape[-1])[::-1].copy()
    factor = float(softmax_factor(attrs.output_scale))
    point = attrs.output_zero_point
    function = softmax_onnxruntime(isa, spec.shape, spec.dtype, attrs.out_dtype, point, factor)
    operands = [data, relax.const(table, "float32")]
    return call_tir(builder, "softmax", function, operands, spec.shape, attrs.out_dtype)


RULES: tuple[tuple[Operator[Any], VectorRule], ...] = ((quantized_softmax, _softmax),)
OPEN: tuple[VectorRule, ...] = (_softmax,)
"""The rules that also take open sizes."""
