"""Rules for softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from legalize.kernels.call import call_tir
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import VectorRule
from legalize.kernels.softmax.kernel import softmax
from legalize.kernels.softmax.onnxruntime import softmax_onnxruntime
from legalize.kernels.softmax.open_rows import OpenKernel
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
    if is_open(spec.shape) and not isa.has_plain_tables:
        return None
    if is_onnxruntime(attrs):
        return _onnxruntime(builder, attrs, operands[0], isa)
    table = exp_table(attrs.input_scale, attrs.beta)
    constants = [relax.const(array, "int32") for array in (table, sum_term(table))]
    point = attrs.output_zero_point
    distances = 1 + int(np.flatnonzero(table >= LEAST_EXPONENTIAL).max(initial=0))
    how = isa, spec.shape, spec.dtype, attrs.out_dtype, point, distances
    function = OpenKernel(*how).build() if is_open(spec.shape) else softmax(*how)
    operands = [operands[0], *constants]
    return call_tir(builder, "softmax", function, operands, spec.shape, attrs.out_dtype)


def _onnxruntime(
    builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr, isa: VectorIsa
) -> relax.Expr | None:
    spec = spec_of(data)
    if 0 in spec.shape:
        return None
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
