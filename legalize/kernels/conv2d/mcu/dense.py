"""Rescales, without floats, dense layers on microcontrollers that no kernel serves whole.

Examples are uint8 weights that do not fit int8 without their zero point. LiteRT scales the sums of
a dense layer by a float64, which these cores compute by function calls. A form gives the same
result for every int32. If there is none, the code counts the outputs' steps that a sum has reached.
"""

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.conv2d.calls import saturate
from legalize.kernels.ir.vectors import Array
from legalize.kernels.kernel import Builder, Lowered, Operands, Rule
from legalize.kernels.rescale import HIGH, Form, Staircase, prove, steps_of
from qnn_ops import quantized_dense
from qnn_ops.arithmetic.fixed_point import requantize_float64
from qnn_ops.arithmetic.sums import SUMS, dense_factor
from qnn_ops.dialect.attributes import QUANTIZED, dtype_range
from qnn_ops.dialect.registry import Attrs

_LEAST, _MOST = dtype_range("int32")


def dense_in_two(builder: Builder, attrs: Attrs, operands: Operands, *, rule: Rule) -> Lowered:
    """Return a dense layer of rounding "float64" with 8-bit outputs; None for any other.

    Args:
        builder: the module's builder.
        attrs: the call's attributes.
        operands: the call's operands.
        rule: returns the sums, if a kernel computes them.
    """
    if attrs.rounding != "float64" or attrs.out_dtype not in QUANTIZED:
        return None
    fields = {**vars(attrs), **SUMS}
    sums = rule(builder, type(attrs)(**fields), operands)
    if sums is None:
        data, weights, bias = (*operands, None)[:3]
        sums = quantized_dense(data, weights, bias=bias, **fields)
    multiplier = np.atleast_1d(dense_factor(attrs, "int8"))
    bounds = attrs.out_min, attrs.out_max
    point, dtype = attrs.output_zero_point, attrs.out_dtype
    return rescaled(builder, builder.emit(sums), multiplier, point, bounds, dtype)


def rescaled(
    builder: Builder,
    sums: relax.Expr,
    multiplier: Array,
    zero_point: int,
    bounds: tuple[int, int],
    dtype: str,
) -> relax.Expr:
    """Turn sums into outputs as ``scale_down`` does with rounding "float64".

    Args:
        builder: emits expressions that are used twice.
        sums: int32 expression, already emitted.
        multiplier: float64 [1], or one for each channel, the last axis.
        zero_point: added after scaling.
        bounds: the clamp range, of at most 8 bits.
        dtype: the result's dtype.
    """

    def staircase(values: Array) -> Array:
        scaled = requantize_float64(values, multiplier).astype(np.int64)
        return np.asarray(np.clip(scaled + zero_point, *bounds))

    least, most = (np.full(multiplier.size, end, np.int64) for end in (_LEAST, _MOST))
    form = prove(staircase, multiplier, least, most, bounds)
    if form is None:
        return _counted(builder, sums, staircase, least, most, bounds, dtype)
    return saturate(_formed(builder, sums, form), bounds, dtype)


def _formed(builder: Builder, sums: relax.Expr, form: Form) -> relax.Expr:
    """Return the result of a form, before the clamp, as int64."""
    multiplier = form.multiplier.astype(np.int64) << form.left
    product = R.multiply(R.astype(sums, "int64"), relax.const(multiplier, "int64"))
    addends = [relax.const(row, "int64") for row in form.addend]
    addend = addends[0]
    if len(addends) > 1:
        is_negative = builder.emit(R.less(sums, relax.const(0, "int32")))
        addend = R.where(is_negative, addends[1], addend)
    if form.is_wide:
        return R.right_shift(R.add(product, addend), relax.const(HIGH + form.right, "int64"))
    high = R.right_shift(product, relax.const(HIGH, "int64"))
    return R.right_shift(R.add(high, addend), relax.const(form.right, "int64"))


def _counted(
    builder: Builder,
    sums: relax.Expr,
    staircase: Staircase,
    least: Array,
    most: Array,
    bounds: tuple[int, int],
    dtype: str,
) -> relax.Expr:
    """Return the least output plus one for each step that a sum has reached."""
    first = staircase(least[None])[0]
    steps = steps_of(staircase, least, most, *bounds)
    # The last row has the ends.
    before = np.where(steps.has_start, steps.starts - 1, _MOST)[:-1].T
    is_above = R.greater(R.expand_dims(sums, -1), relax.const(before, "int32"))
    count = builder.emit(R.sum(R.astype(is_above, "int32"), axis=-1))
    return R.astype(R.add(count, relax.const(first, "int32")), dtype)
