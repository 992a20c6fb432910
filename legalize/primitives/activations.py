"""quantized_lookup, quantized_relu and quantized_softmax in Relax primitives."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, saturate, scale_down
from legalize.primitives.onnxruntime import softmax_onnxruntime
from legalize.primitives.registry import primitive
from qnn_ops.attributes import dtype_range
from qnn_ops.onnxruntime import is_onnxruntime
from qnn_ops.quantized_lookup import quantized_lookup
from qnn_ops.quantized_relu import quantized_relu, relu_bounds, relu_multiplier
from qnn_ops.quantized_softmax import quantized_softmax
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.softmax_arithmetic import (
    ACCUMULATOR_BITS,
    FORTY_EIGHT_OVER_17,
    LARGEST_SUM,
    MINUS_32_OVER_17,
    NEWTON_STEPS,
    exp_table,
    exp_table_int16,
    reciprocal_table_int16,
    sum_term,
)


def lookup(data: relax.Expr, table: relax.Expr) -> relax.Expr:
    """Look up 8-bit ``data`` in ``table``; the lowest value names the first entry."""
    lowest, _ = dtype_range(spec_of(data).dtype)
    index = R.subtract(R.astype(data, "int32"), const(lowest, "int32"))
    # Every 8-bit value has an entry, so nothing is clipped; "fast" makes TVM print a warning.
    return R.take(table, index, axis=0, mode="clip")


@primitive(quantized_lookup)
def _quantized_lookup(
    _builder: relax.BlockBuilder, _attrs: Attrs, data: relax.Expr, table: relax.Expr
) -> relax.Expr:
    return lookup(data, table)


@primitive(quantized_relu)
def _quantized_relu(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    if relu_multiplier(attrs) == 1:
        # Rescaling by exactly one changes nothing. 16 bits hold what two zero points move by.
        move = const(attrs.output_zero_point - attrs.input_zero_point, "int16")
        moved = R.add(R.astype(data, "int16"), move)
        low, high = (const(bound, "int16") for bound in relu_bounds(attrs))
        return R.astype(R.minimum(R.maximum(moved, low), high), attrs.out_dtype)
    return scale_down(
        builder,
        R.subtract(R.astype(data, "int32"), const(attrs.input_zero_point, "int32")),
        relu_multiplier(attrs),
        "tflite",
        attrs.output_zero_point,
        relu_bounds(attrs),
        attrs.out_dtype,
    )


@primitive(quantized_softmax)
def _quantized_softmax(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    rank = len(spec_of(data).shape)
    axis = attrs.axis % rank
    largest = R.astype(R.max(data, axis, keepdims=True), "int32")
    distance = builder.emit(R.subtract(largest, R.astype(data, "int32")))
    if is_onnxruntime(attrs):
        return softmax_onnxruntime(builder, attrs, distance)
    if spec_of(data).dtype == "int16":
        return _of_int16(builder, attrs, distance, axis)
    # A distance of 8-bit values is one of 256: what depends on it alone is a table.
    table = exp_table(attrs.input_scale, attrs.beta)
    exponentials = R.take(const(table, "int64"), distance, axis=0, mode="clip")
    terms = R.take(const(sum_term(table), "int64"), distance, axis=0, mode="clip")
    total = R.minimum(R.sum(terms, axis, keepdims=True), const(LARGEST_SUM, "int64"))
    fraction, bits = _reciprocal(builder, total, axis, rank)
    result_bits = np.iinfo(attrs.out_dtype).bits
    down = builder.emit(R.add(bits, const(31 - result_bits, "int64")))
    half = R.left_shift(const(1, "int64"), R.subtract(down, const(1, "int64")))
    steps = R.right_shift(R.add(_product(fraction, exponentials), half), down)
    steps = R.minimum(steps, const((1 << result_bits) - 1, "int64"))
    return R.astype(R.add(steps, const(attrs.output_zero_point, "int64")), attrs.out_dtype)


def _reciprocal(
    builder: relax.BlockBuilder, total: relax.Expr, axis: int, rank: int
) -> tuple[relax.Expr, relax.Expr]:
    """Compute qnn_ops.softmax_arithmetic.reciprocal; ``total`` is 1 along ``axis``."""
    total = builder.emit(total)
    bits = _powers_reached(builder, total, range(20, 31), axis, rank)  # from 2 in Q12.19 on
    to_one = R.subtract(const(ACCUMULATOR_BITS, "int64"), bits)
    half_denominator = builder.emit(R.right_shift(R.left_shift(total, to_one), const(1, "int64")))
    x = R.add(
        _product(half_denominator, const(MINUS_32_OVER_17, "int64")),
        const(FORTY_EIGHT_OVER_17, "int64"),
    )
    for _ in range(NEWTON_STEPS):
        x = builder.emit(x)
        error = R.subtract(const(1 << 29, "int64"), _product(half_denominator, x))
        x = R.add(x, R.multiply(_product(x, error), const(4, "int64")))
    return R.minimum(R.multiply(x, const(2, "int64")), const(2**31 - 1, "int64")), bits


def _powers_reached(
    builder: relax.BlockBuilder, total: relax.Expr, exponents: range, axis: int, rank: int
) -> relax.Expr:
    """Count the powers of two that ``total``, which is 1 along ``axis``, reaches."""
    powers = 1 << np.array(exponents)
    powers = powers.reshape([-1 if dim == axis else 1 for dim in range(rank)])
    reached = R.astype(R.greater_equal(total, const(powers, "int64")), "int64")
    return builder.emit(R.sum(reached, axis, keepdims=True))


def _of_int16(
    builder: relax.BlockBuilder, attrs: Attrs, distance: relax.Expr, axis: int
) -> relax.Expr:
    """Compute qnn_ops.softmax_arithmetic.probabilities_int16."""
    table = const(exp_table_int16(attrs.input_scale, attrs.beta), "int64")
    exponentials = builder.emit(R.take(table, distance, axis=0, mode="clip"))
    total = builder.emit(R.sum(exponentials, axis, keepdims=True))
    # The sum has 15 bits at least, and one more for each power that it reaches.
    rank = len(spec_of(distance).shape)
    more = _powers_reached(builder, total, range(15, 31), axis, rank)
    brought = R.left_shift(total, R.subtract(const(16, "int64"), more))
    shifted = R.right_shift(R.add(brought, const(1 << 13, "int64")), const(14, "int64"))
    # What is clipped is beside the table.
    place = R.astype(R.subtract(shifted, const(1 << 16, "int64")), "int32")
    reciprocals = const(reciprocal_table_int16(), "int64")
    reciprocal = builder.emit(R.take(reciprocals, place, axis=0, mode="clip"))
    down = builder.emit(R.add(more, const(14, "int64")))
    half = R.left_shift(const(1, "int64"), R.subtract(down, const(1, "int64")))
    steps = R.right_shift(R.add(R.multiply(exponentials, reciprocal), half), down)
    return saturate(steps, (0, 2**15 - 1), "int16")


def _product(a: relax.Expr, b: relax.Expr) -> relax.Expr:
    """Compute gemmlowp's doubling high product of int64 expressions that hold int32 values."""
    product = R.add(R.multiply(a, b), const(1 << 30, "int64"))
    return R.right_shift(product, const(31, "int64"))
