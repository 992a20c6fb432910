"""Which elementwise calls of the dialect the x86 kernels serve."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from legalize.kernels.calls import call_tir
from legalize.kernels.registry import kernel
from legalize.kernels.x86.join import Part, join
from legalize.kernels.x86.softmax import softmax
from qnn_ops import (
    quantized_concat,
    quantized_lookup,
    quantized_relu,
    quantized_softmax,
    requantize,
)
from qnn_ops.attributes import dtype_range
from qnn_ops.quantized_concat import conversion_table
from qnn_ops.registry import Attrs, Operator, constant_of, spec_of
from qnn_ops.softmax_arithmetic import exp_table, sum_term

Array = np.ndarray[Any, Any]

_LOOKUP = ("avx512bw", "avx512vbmi")


@kernel(quantized_concat, *_LOOKUP)
def _concat_through_tables(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    inputs = _inputs(builder, operands[0])
    tables = [conversion_table(attrs, index) for index in range(len(inputs))]
    return _join(builder, inputs, tables, attrs.axis, attrs.out_dtype)


@kernel(quantized_concat, "avx512bw")
def _concat(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    def converted(index: int, data: relax.Expr) -> relax.Expr:
        table = conversion_table(attrs, index)
        if table is None:
            return data
        return builder.emit(quantized_lookup(data, relax.const(table, attrs.out_dtype)))

    inputs = [converted(*numbered) for numbered in enumerate(_inputs(builder, operands[0]))]
    return _join(builder, inputs, [None] * len(inputs), attrs.axis, attrs.out_dtype)


def _inputs(builder: relax.BlockBuilder, inputs: relax.Expr) -> list[relax.Expr]:
    if isinstance(inputs, relax.Tuple):
        return list(inputs.fields)
    return [builder.emit(inputs[index]) for index in range(len(inputs.ty.fields))]


@kernel(quantized_lookup, *_LOOKUP)
def _lookup(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    data, table = operands[0], constant_of(operands[1])
    if table is None:
        return None
    return _join(builder, [data], [table], 0, str(table.dtype))


@kernel(quantized_relu, *_LOOKUP)
def _relu(builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]) -> relax.Expr:
    return _tabulate(builder, quantized_relu, attrs, operands[0])


@kernel(requantize, *_LOOKUP)
def _requantize(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    is_per_tensor = not isinstance(attrs.input_scale, tuple) and not isinstance(
        attrs.input_zero_point, tuple
    )
    dtypes = spec_of(operands[0]).dtype, attrs.out_dtype
    if not is_per_tensor or not set(dtypes) <= {"int8", "uint8"}:
        return None
    return _tabulate(builder, requantize, attrs, operands[0])


def _tabulate(
    builder: relax.BlockBuilder, operator: Operator[Any], attrs: Attrs, data: relax.Expr
) -> relax.Expr | None:
    """A function of one byte as the table of its results."""
    low, high = dtype_range(spec_of(data).dtype)
    values = np.arange(low, high + 1).astype(spec_of(data).dtype)
    of_a_row = Attrs(**{**vars(attrs), "axis": -1})
    return _join(builder, [data], [operator.apply(of_a_row, values)], 0, attrs.out_dtype)


def _join(
    builder: relax.BlockBuilder,
    inputs: list[relax.Expr],
    tables: Sequence[Array | None],
    axis: int,
    dtype: str,
) -> relax.Expr | None:
    """Join tensors; a table has the result for the lowest value of the input's dtype first."""
    specs = [spec_of(data) for data in inputs]
    if not specs[0].shape or 0 in map(prod, (spec.shape for spec in specs)):
        return None
    axis %= len(specs[0].shape)
    parts = tuple(
        Part(spec.shape, spec.dtype, table is not None)
        for spec, table in zip(specs, tables, strict=True)
    )
    constants = [
        # Kernels look up by the bits, in which -128 follows 127.
        relax.const(np.roll(table, 128 if spec.dtype == "int8" else 0).view(np.uint8), "uint8")
        for spec, table in zip(specs, tables, strict=True)
        if table is not None
    ]
    shape = list(specs[0].shape)
    shape[axis] = sum(spec.shape[axis] for spec in specs)
    function = join(parts, axis, dtype)
    return call_tir(builder, "join", function, [*inputs, *constants], tuple(shape), dtype)


@kernel(quantized_softmax, "sse4.1")
def _softmax(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    spec = spec_of(operands[0])
    if attrs.axis % len(spec.shape) != len(spec.shape) - 1:
        return None
    table = exp_table(attrs.input_scale, attrs.beta)
    constants = [relax.const(array, "int32") for array in (table, sum_term(table))]
    function = softmax(spec.shape, spec.dtype, attrs.out_dtype, attrs.output_zero_point)
    operands = [operands[0], *constants]
    return call_tir(builder, "softmax", function, operands, spec.shape, attrs.out_dtype)
