"""Reductions along axes, MEAN and CUMSUM."""

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.ranges import split
from frontends.tflite.converters import scales
from frontends.tflite.converters.context import Context, per_tensor, reshaped
from frontends.tflite.converters.fixed_point import rescaled, saturated
from frontends.tflite.operators import COMPUTED, MOVED, OPERATORS, Row, Rule, converter
from qnn_ops import quantized_mean, requantize
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.dialect.checks import check_axis
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_MOST_IN_ORDER = 128  # each element is an operator of its own


def axes_of(ctx: Context) -> list[int]:
    """Read the axes of a reduction from its second input, each once, counted from the front."""
    # A scalar has no axes; its operand of axes is ignored.
    rank, axes = len(ctx.input(0).shape), ctx.integers(1)
    return sorted({check_axis(axis, rank) for axis in axes}) if rank else []


def reduced(ctx: Context, reduce: Callable[[relax.Expr, list[int], bool], Any]) -> Any:
    """Return a reduction of the first input; without axes, it reduces a new axis of size 1."""
    data, axes = ctx.input(0), axes_of(ctx)
    if axes:
        return reduce(data.expr, axes, ctx.options.keep_dims)
    longer = ctx.emit(reshaped(data.expr, (*data.shape, 1)))
    return reduce(longer, [len(data.shape)], False)


def _kept_shape(ctx: Context) -> list[int]:
    """Return the shape of a reduction of elements, or of none."""
    axes, keep = axes_of(ctx), ctx.options.keep_dims
    sizes = enumerate(ctx.input(0).shape)
    return [1 if axis in axes else size for axis, size in sizes if keep or axis not in axes]


def beginning(begin: str | int, dtype: str) -> relax.Expr:
    """Return a number as a constant of a type; "min" and "max" are the ends of the type."""
    info = np.finfo(dtype) if dtype == "float32" else np.iinfo(dtype)
    value = getattr(info, begin) if isinstance(begin, str) else begin
    return relax.const(np.asarray(value, dtype), dtype)


def _reduce(function: Callable[..., relax.Expr], begin: str | int | None = None) -> Rule:
    """Return the rule that reduces numbers along constant axes.

    Args:
        function: of Relax.
        begin: the result without elements: a number, or "min" or "max" of the type; None if it is
            undefined.
    """

    def convert(ctx: Context) -> relax.Expr:
        data = ctx.input(0)
        if 0 not in data.shape:
            return reduced(ctx, function)
        if begin is None:
            raise UnsupportedError(f"the mean of {data.label}, which has no elements")
        dtype = spec_of(data.expr).dtype
        return R.full(_kept_shape(ctx), beginning(begin, dtype), dtype)

    return convert


_sum, _largest, _smallest = _reduce(R.sum, 0), _reduce(R.max, "min"), _reduce(R.min, "max")
_product = _reduce(R.prod, 1)


def convert_sum(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Add up along constant axes, in int32, and bring the sum to the result's scale.

    LiteRT 2.3.0's reference kernel reads int8 as uint8. This rule computes int8 as the kernel
    computes uint8.
    """
    data, result = ctx.input(0), ctx.output()
    if 0 in data.shape:
        return _sum(ctx)
    scale, point = data.quantization

    def add(expr: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        total, count = _total(ctx, expr, "int32", axes, keep)
        return requantize(total, scale, point * count, *per_tensor(result), result.dtype)

    return reduced(ctx, add)


def _total(
    ctx: Context, data: relax.Expr, dtype: str, axes: list[int], keep: bool
) -> tuple[relax.Expr, int]:
    """Return sums along axes, and the number of elements of each."""
    count = prod(spec_of(data).shape[axis] for axis in axes)
    return ctx.emit(R.sum(ctx.emit(R.astype(data, dtype)), axes, keep)), count


def _extremum(rule: Rule) -> Rule:
    """Return the rule that finds the largest (smallest) integer along constant axes."""

    def convert(ctx: Context) -> relax.Expr | list[relax.Expr]:
        scales.check_same_quantization(ctx.tensor(0), ctx.output())
        return rule(ctx)

    return convert


def convert_mean(ctx: Context) -> relax.Expr:
    """Return the mean along constant axes."""
    data, result = ctx.input(0), ctx.output()
    encodings = (*data.quantization, *per_tensor(result), result.dtype)
    return reduced(ctx, lambda expr, axes, keep: quantized_mean(expr, axes, keep, *encodings))


def convert_unscaled_mean(ctx: Context) -> relax.Expr:
    """Return the result's zero point: scales of 0 give LiteRT a multiplier of 0."""

    def fill(expr: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return scales.zero_points(
            ctx.output(), spec_of(ctx.builder.typed(R.max(expr, axes, keep))).shape
        )

    return reduced(ctx, fill)


def _whole(function: Callable[..., relax.Expr], numbers: Rule | None = None) -> Rule:
    """Return the rule that reduces integers or bool along constant axes.

    Args:
        function: ``R.max`` or ``R.min``; for bool they mean any or all.
        numbers: the rule for integers, if there is one.
    """

    def convert(ctx: Context) -> relax.Expr | list[relax.Expr]:
        data, dtype = ctx.input(0), ctx.output().dtype
        if dtype != "bool" and numbers is not None:
            return numbers(ctx)
        if dtype != "bool" or 0 in data.shape:
            raise UnsupportedError(f"of {dtype}, of shape {data.shape}")

        def reduce(expr: relax.Expr, axes: list[int], keep: bool) -> Any:
            # TVM reduces no bool.
            return ctx.builder.array(function(ctx.emit(R.astype(expr, "int8")), axes, keep)) > 0

        return reduced(ctx, reduce)

    return convert


def convert_whole_mean(ctx: Context) -> relax.Expr:
    """Average along constant axes, in 64 bits, and round towards zero."""
    data, dtype = ctx.input(0), ctx.output().dtype
    if dtype == "bool" or 0 in data.shape:
        raise UnsupportedError(f"the mean of {data.label}, {dtype} of shape {data.shape}")

    def average(expr: relax.Expr, axes: list[int], keep: bool) -> Any:
        summed, count = _total(ctx, expr, "int64", axes, keep)
        total = ctx.builder.array(summed)
        return (np.abs(total) // count * np.sign(total)).astype(dtype)

    return reduced(ctx, average)


def convert_quantized_product(ctx: Context) -> relax.Expr:
    """Multiply along constant axes, one value after the other, each product rescaled.

    Source: QuantizedReduceProd of TFLite's kernels/internal/reference/reduce.h. A product's
    multiplier is the data's scale divided by the n-th root of the result's, in 15 bits.
    """
    data, result, axes = ctx.input(0), ctx.output(), axes_of(ctx)
    if data.dtype != result.dtype or result.dtype == "uint8":
        raise UnsupportedError(f"from {data.dtype} to {result.dtype}")
    if result.dtype == "int16":
        scales.check_symmetric(data.tensor, result)
    count = prod(data.shape[axis] for axis in axes)
    shape = _kept_shape(ctx)
    if 0 in shape:
        return R.zeros(shape, result.dtype)
    if not 0 < count <= _MOST_IN_ORDER:
        raise UnsupportedError(f"of {count} values along axes {axes} of {data.shape}")
    (scale, point), (result_scale, result_point) = data.quantization, per_tensor(result)
    multiplier, shift = quantize_multiplier(scale / result_scale ** (1.0 / count))
    if not -31 <= int(shift) < 8:
        raise QnnError(f"the scales {scale:.4g} and {result_scale:.4g} are too far apart")
    emit, scale_of_product = ctx.emit, (int(multiplier), int(shift))
    kept = [axis for axis in range(len(data.shape)) if axis not in axes]
    moved = emit(R.permute_dims(data.expr, [*kept, *axes]))
    rows = emit(reshaped(moved, (prod(data.shape[axis] for axis in kept), count)))
    values = ctx.builder.array(rows).astype("int64") - point
    total, *others = map(ctx.builder.array, split(ctx.builder, values.expr, [1] * count, 1))
    for part in others:
        total = rescaled(total * part, *scale_of_product)
    steps = rescaled(total, *scale_of_product) + result_point
    return reshaped(saturated(steps, result.dtype).expr, shape)


def convert_unscaled_product(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Multiply plain integers: neither they nor the products have a scale."""
    tensors = [ctx.tensor(0), ctx.output()]
    if not all(map(scales.lacks_scale, tensors)):
        scales.check_one_scale(tensors)
    return _product(ctx)


@converter("CUMSUM", dtypes=("float32", "int32", "int64"))
def convert_cumsum(ctx: Context) -> relax.Expr:
    """Add up along an axis, from its beginning or from its end."""
    options, data = ctx.options, ctx.input(0)
    dtype, shape = data.dtype, data.shape
    axis = check_axis(ctx.integer(1), len(shape))
    if 0 in shape:
        return R.zeros(shape, dtype)
    expr = ctx.emit(R.flip(data.expr, axis)) if options.reverse else data.expr
    if options.exclusive:
        expr = _moved(ctx, expr, axis, 1)
    sums = (_one_by_one if dtype == "float32" else _by_doubling)(ctx, expr, axis)
    return R.flip(ctx.emit(sums), axis) if options.reverse else sums


def _moved(ctx: Context, expr: relax.Expr, axis: int, count: int) -> relax.Expr:
    """Shift elements along an axis, and fill with zeros."""
    shape = spec_of(ctx.builder.typed(expr)).shape
    size = shape[axis]
    zeros = R.zeros([*shape[:axis], min(count, size), *shape[axis + 1 :]], ctx.output().dtype)
    if count >= size:
        return zeros
    first = R.strided_slice(expr, [axis], [0], [size - count])
    return ctx.emit(R.concat([zeros, ctx.emit(first)], axis))


def _by_doubling(ctx: Context, expr: relax.Expr, axis: int) -> relax.Expr:
    """Add up integers, whose order does not matter, in as many steps as the size has bits."""
    count = 1
    while count < ctx.input(0).shape[axis]:
        expr = ctx.emit(R.add(expr, _moved(ctx, expr, axis, count)))
        count *= 2
    return expr


def _one_by_one(ctx: Context, expr: relax.Expr, axis: int) -> relax.Expr:
    """Add up in LiteRT's order, from 0, so that no sum is -0."""
    size = ctx.input(0).shape[axis]
    if size > _MOST_IN_ORDER:
        raise UnsupportedError(f"of {size} numbers of float32")
    zero = relax.const(0, "float32")  # TVM would take x + 0 for x, also if x is -0
    expr = ctx.emit(R.where(R.equal(expr, zero), zero, expr))
    parts = map(ctx.emit, split(ctx.builder, expr, [1] * size, axis))
    sums = [*accumulate(parts, lambda total, part: ctx.emit(R.add(total, part)))]
    return R.concat(sums, axis) if len(sums) > 1 else sums[0]


OPERATORS.update(
    {
        "MEAN": Row(
            scaled=convert_mean,
            floats=_reduce(R.mean),
            whole=convert_whole_mean,
            unscaled=convert_unscaled_mean,
            is_complemented=True,
            micro=COMPUTED,
        ),
        "REDUCE_ALL": Row(whole=_whole(R.min)),
        "REDUCE_ANY": Row(whole=_whole(R.max)),
        **{
            code: Row(
                scaled=_extremum(rule),
                floats=rule,
                whole=_whole(of_bool, rule),
                micro=MOVED,
                is_for_every_scale=True,
                fills=True,
            )
            for code, rule, of_bool in (
                ("REDUCE_MAX", _largest, R.max),
                ("REDUCE_MIN", _smallest, R.min),
            )
        },
        "REDUCE_PROD": Row(
            scaled=convert_quantized_product,
            floats=_product,
            whole=_whole(R.min, _product),
            unscaled=convert_unscaled_product,
            fills=True,
        ),
        # Sums and products of bool are bool.
        "SUM": Row(
            quantized=convert_sum,
            floats=_sum,
            whole=_whole(R.max, _sum),
            unscaled=convert_unscaled_mean,
            fills=True,
        ),
    }
)
