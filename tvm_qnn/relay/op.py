"""Relay's plain operators, as hand-written quantized networks use them beside quantized ones.

Each function makes the Relax operator with the same meaning; operands and results have any dtype.
"""

import math
import typing as _typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr import _update_type

from qnn_ops.errors import QnnError
from tvm_qnn.relay import selection
from tvm_qnn.relay.expr import clip as clip
from tvm_qnn.relay.expr import const, emitted, spec, typed
from tvm_qnn.relay.expr import operator as _operator
from tvm_qnn.relay.selection import *  # noqa: F403 (the module lists what it gives)

if not _typing.TYPE_CHECKING:  # which take all public names
    __all__ = ["clip", *selection.__all__]


def _named(name: str, function: Callable[..., Any], about: str) -> Callable[..., Any]:
    """Return a function as an operator with a name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = about
    return _operator(function)


def _binary(name: str, made: Callable[..., relax.Call]) -> Callable[..., relax.Call]:
    def function(lhs: relax.Expr, rhs: relax.Expr) -> relax.Call:
        return made(lhs, rhs)

    about = f"The {name} of two tensors whose shapes broadcast, element by element."
    return _named(name, function, about)


def _reduction(name: str, made: Callable[..., relax.Call]) -> Callable[..., relax.Call]:
    def function(
        data: relax.Expr,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
    ) -> relax.Call:
        if exclude:
            if axis is None:
                raise QnnError(f"{name}: exclude needs an axis")
            rank = len(spec(f"{name}: data", data).shape)
            named = {each % rank for each in ([axis] if isinstance(axis, int) else axis)}
            axis = [each for each in range(rank) if each not in named]
        return made(data, axis, keepdims)

    about = f"The {name} along axes, or all but them (``exclude``), or of all values."
    return _named(name, function, about)


def _unary(name: str, made: Callable[..., relax.Call]) -> Callable[..., relax.Call]:
    def function(data: relax.Expr) -> relax.Call:
        return made(data)

    return _named(name, function, f"The {name} of each value.")


add = _binary("add", relax.op.add)
subtract = _binary("subtract", relax.op.subtract)
multiply = _binary("multiply", relax.op.multiply)
divide = _binary("divide", relax.op.divide)
maximum = _binary("maximum", relax.op.maximum)
minimum = _binary("minimum", relax.op.minimum)
floor_divide = _binary("floor_divide", relax.op.floor_divide)
floor_mod = _binary("floor_mod", relax.op.floor_mod)
logical_and = _binary("logical_and", relax.op.logical_and)
logical_or = _binary("logical_or", relax.op.logical_or)
power = _binary("power", relax.op.power)
left_shift = _binary("left_shift", relax.op.left_shift)
right_shift = _binary("right_shift", relax.op.right_shift)
equal = _binary("equal", relax.op.equal)
not_equal = _binary("not_equal", relax.op.not_equal)
less = _binary("less", relax.op.less)
less_equal = _binary("less_equal", relax.op.less_equal)
greater = _binary("greater", relax.op.greater)
greater_equal = _binary("greater_equal", relax.op.greater_equal)


def _rounded(data: relax.Expr) -> relax.Call:
    """Round halves away from zero; Relax's operator rounds them to even."""
    dtype = spec("round: data", data).dtype
    if "float" not in dtype:
        return relax.op.round(data)
    whole = trunc(data)
    is_half = greater_equal(abs(subtract(data, whole)), const(0.5, dtype))
    return relax.op.add(whole, where(is_half, sign(data), zeros_like(data)))


abs = _unary("abs", relax.op.abs)
ceil = _unary("ceil", relax.op.ceil)
erf = _unary("erf", relax.op.erf)
exp = _unary("exp", relax.op.exp)
floor = _unary("floor", relax.op.floor)
log = _unary("log", relax.op.log)
logical_not = _unary("logical_not", relax.op.logical_not)
negative = _unary("negative", relax.op.negative)
round = _unary("round", _rounded)
rsqrt = _unary("rsqrt", relax.op.rsqrt)
sigmoid = _unary("sigmoid", relax.op.sigmoid)
sign = _unary("sign", relax.op.sign)
sqrt = _unary("sqrt", relax.op.sqrt)
tanh = _unary("tanh", relax.op.tanh)
trunc = _unary("trunc", relax.op.trunc)
zeros_like = _unary("zeros_like", relax.op.zeros_like)
ones_like = _unary("ones_like", relax.op.ones_like)


def _of_bools(made: Callable[..., relax.Call]) -> Callable[..., relax.Call]:
    """Return a reduction of truth values, made from a reduction of bytes."""

    def reduction(data: relax.Expr, axis: Any, keepdims: bool) -> relax.Call:
        of_bytes = typed(made(cast(cast(data, "bool"), "int8"), axis, keepdims))
        return relax.op.astype(of_bytes, "bool")

    return reduction


mean = _reduction("mean", relax.op.mean)
sum = _reduction("sum", relax.op.sum)
prod = _reduction("prod", relax.op.prod)
max = _reduction("max", relax.op.max)
min = _reduction("min", relax.op.min)
all = _reduction("all", _of_bools(relax.op.min))
any = _reduction("any", _of_bools(relax.op.max))


@_operator
def variance(
    data: relax.Expr,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: relax.Expr | None = None,
) -> relax.Call:
    """Return the variance of floats along axes.

    Args:
        data: a tensor of any shape.
        axis: default: all axes.
        keepdims: whether reduced axes stay, with size 1.
        exclude: whether ``axis`` names the axes that stay.
        unbiased: whether the sum of n squares is divided by n - 1.
        with_mean: the mean, if it is known, with axes of size 1.
    """
    centre = mean(data, axis, True, exclude) if with_mean is None else with_mean
    apart = subtract(data, centre)
    found = mean(multiply(apart, apart), axis, keepdims, exclude)
    if not unbiased:
        return found
    of_data = spec("variance: data", data)
    count = math.prod(of_data.shape) // math.prod(spec("variance", found).shape)
    return multiply(found, const(count / (count - 1), of_data.dtype))


def _filled(name: str, value: float) -> Callable[..., relax.Expr]:
    def function(shape: Sequence[int], dtype: str) -> relax.Expr:
        return const(np.full([int(size) for size in shape], value, dtype))

    return _named(name, function, f"A tensor of a shape and dtype that holds {value} everywhere.")


zeros = _filled("zeros", 0)
ones = _filled("ones", 1)


@_operator
def full(fill_value: relax.Expr, shape: Sequence[int], dtype: str = "") -> relax.Call:
    """Return a tensor filled with one value, which is a constant or a scalar."""
    wanted = dtype or spec("full: fill_value", fill_value).dtype
    return broadcast_to(cast(fill_value, wanted), shape)


def get(op_name: str) -> tvm.ir.Op:
    """Return an operator of today's TVM by Relay's name, such as "nn.conv2d".

    Raises:
        QnnError: if there is no operator with this name.
    """
    try:
        return tvm.ir.Op.get(f"relax.{op_name}")
    except (AttributeError, RuntimeError, ValueError):
        raise QnnError(f"op.get: there is no operator {op_name!r}") from None


@_operator
def argmax(data: relax.Expr, axis: int | None = None, keepdims: bool = False) -> relax.Call:
    """Return the int32 index of the largest value along an axis, or of all values."""
    return cast(relax.op.argmax(data, axis, keepdims), "int32")


@_operator
def argmin(data: relax.Expr, axis: int | None = None, keepdims: bool = False) -> relax.Call:
    """Return the int32 index of the smallest value along an axis, or of all values."""
    return cast(relax.op.argmin(data, axis, keepdims), "int32")


@_operator
def stack(data: Sequence[relax.Expr] | relax.Tuple, axis: int) -> relax.Call:
    """Stack tensors of one shape along a new axis."""
    return concatenate([expand_dims(field, axis) for field in fields_of(data)], axis)


@_operator
def reshape(data: relax.Expr, newshape: int | Sequence[int]) -> relax.Call:
    """Reshape: one size may be -1, and 0 copies the data's size."""
    shape = spec("reshape: data", data).shape
    sizes = [newshape] if isinstance(newshape, int) else list(newshape)
    if 0 in sizes[len(shape) :]:
        raise QnnError(f"reshape: {sizes} keeps an axis that data of shape {shape} does not have")
    kept = [shape[place] if size == 0 else int(size) for place, size in enumerate(sizes)]
    return relax.op.reshape(data, kept)


@_operator
def transpose(data: relax.Expr, axes: Sequence[int] | None = None) -> relax.Call:
    """Permute the axes; by default, reverse them."""
    return relax.op.permute_dims(data, None if axes is None else list(axes))


@_operator
def squeeze(data: relax.Expr, axis: int | Sequence[int] | None = None) -> relax.Call:
    """Remove axes of size 1: the given ones, or all."""
    return relax.op.squeeze(data, axis)


@_operator
def expand_dims(data: relax.Expr, axis: int, num_newaxis: int = 1) -> relax.Call:
    """Insert axes of size 1 before ``axis``."""
    return relax.op.expand_dims(data, [axis + place for place in range(num_newaxis)])


@_operator
def concatenate(data: Sequence[relax.Expr] | relax.Tuple, axis: int) -> relax.Call:
    """Join tensors along an axis."""
    fields = fields_of(data)
    for field in fields:
        spec("concatenate: data", field)
    return relax.op.concat(fields, axis)


def fields_of(data: Any) -> list[relax.Expr]:
    """List the tensors of a Python sequence, a tuple, or a call that returns one."""
    if isinstance(data, relax.Tuple):
        return list(data.fields)
    if isinstance(data, relax.Call) and isinstance(data.ty, relax.TupleType):
        return [field_of(data, place) for place in range(len(data.ty.fields))]
    return list(data)


def field_of(data: relax.Expr, place: int) -> relax.TupleGetItem:
    """Return one tensor of a tuple."""
    field = relax.TupleGetItem(data, place)
    if type(field.ty) is tvm.ir.Type:
        _update_type(field, data.ty.fields[place])
    return field


@_operator
def cast(data: relax.Expr, dtype: str) -> relax.Call:
    """Return the values in another dtype."""
    return relax.op.astype(data, dtype)


@_operator
def split(data: relax.Expr, indices_or_sections: int | Sequence[int], axis: int = 0) -> relax.Call:
    """Split a tensor along an axis, into equal parts or at indices; returns a tuple of tensors."""
    return relax.op.split(data, indices_or_sections, axis)


@_operator
def where(condition: relax.Expr, x: relax.Expr, y: relax.Expr) -> relax.Call:
    """Take ``x`` where the condition is true, and ``y`` elsewhere; shapes broadcast."""
    return relax.op.where(condition, x, y)


@_operator
def tile(data: relax.Expr, reps: Sequence[int]) -> relax.Call:
    """Repeat a tensor along its axes."""
    return relax.op.tile(data, list(reps))


@_operator
def repeat(data: relax.Expr, repeats: int, axis: int) -> relax.Call:
    """Repeat each element along an axis."""
    return relax.op.repeat(data, repeats, axis)


@_operator
def broadcast_to(data: relax.Expr, shape: Sequence[int]) -> relax.Call:
    """Broadcast a tensor to a shape."""
    return relax.op.broadcast_to(data, list(shape))


def Let(variable: relax.Var, value: relax.Expr, body: relax.Expr) -> relax.Expr:
    """Return ``body`` with a value in place of a variable."""

    def made(part: relax.Expr) -> relax.Expr:
        if isinstance(part, relax.TupleGetItem):
            return field_of(part.tuple_value, part.index)
        return typed(part)

    return emitted(body, made, {variable: value})


def If(cond: relax.Expr, true_branch: relax.Expr, false_branch: relax.Expr) -> relax.Expr:
    """Return one of two tensors, both of which a run computes.

    Args:
        cond: a bool scalar.
        true_branch: the result if it is true.
        false_branch: the result if it is false.

    Raises:
        QnnError: if an argument does not fit.
    """
    of_cond = spec("If: cond", cond)
    one, other = spec("If: true_branch", true_branch), spec("If: false_branch", false_branch)
    if of_cond.shape != () or of_cond.dtype != "bool" or one != other:
        raise QnnError(f"If: needs a bool and two tensors alike, got {of_cond}, {one}, {other}")
    return where(cond, true_branch, false_branch)
