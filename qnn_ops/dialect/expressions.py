"""Relax expressions with numpy's interface: called with them, a reference writes code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tvm
from numpy.lib.mixins import NDArrayOperatorsMixin
from tvm import relax
from tvm.relax import op as R

from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import Size


class Expression(NDArrayOperatorsMixin):
    """A tensor of Relax with numpy's operators, functions and common dtypes.

    Numbers and arrays in the same operation become constants of the common dtype. A reference that
    computes with expressions, too, uses only what this file has. Its dtypes are those of the
    compiled code, because each of its conversions is one there. It checks no values.
    """

    def __init__(self, builder: relax.BlockBuilder, expr: relax.Expr) -> None:
        """Emit an expression, so that it is computed once; ``value`` is the original expression."""
        is_leaf = isinstance(expr, (relax.Var, tvm.ir.GenericConst))
        self.builder, self.value = builder, builder.normalize(expr)
        self.expr = self.value if is_leaf else builder.emit(self.value)
        spec = spec_of(self.expr)
        self.shape, self.dtype = spec.shape, np.dtype(spec.dtype)
        self.ndim = len(self.shape)

    def to(self, expr: relax.Expr) -> Expression:
        """Return another expression with this one's builder."""
        return Expression(self.builder, expr)

    def astype(self, dtype: Any) -> Expression:
        """Convert the values."""
        return self if self.dtype == dtype else self.to(R.astype(self.expr, str(np.dtype(dtype))))

    def reshape(self, *shape: int) -> Expression:
        """Give the values another shape."""
        return self.to(R.reshape(self.expr, shape))

    def sum(self, axis: Any, dtype: Any, keepdims: bool = False) -> Expression:
        """Add values up along one axis or several."""
        axes = [axis] if isinstance(axis, int) else list(axis)
        return self.to(R.sum(self.astype(dtype).expr, axes, keepdims=keepdims))

    def max(self, axis: Any, keepdims: bool = False) -> Expression:
        """Return the largest values along one axis or several."""
        return self.to(R.max(self.expr, axis, keepdims=keepdims))

    def min(self, axis: int, keepdims: bool = False) -> Expression:
        """Return the smallest values along an axis."""
        return self.to(R.min(self.expr, axis, keepdims=keepdims))

    def __getitem__(self, key: Any) -> Expression:
        """Return a part; a key has slices, which go forward, of the first axes or of the last."""
        parts = [*key] if isinstance(key, tuple) else [key]
        if parts[0] is ...:
            parts[:1] = [slice(None)] * (self.ndim - len(parts) + 1)
        axes = [axis for axis, part in enumerate(parts) if part != slice(None)]
        if not axes:
            return self
        found = (parts[axis].indices(self.shape[axis]) for axis in axes)
        begins, ends, steps = zip(*found, strict=True)
        assert min(steps) > 0, "a slice that goes backward is not expressed"
        return self.to(R.strided_slice(self.expr, axes, begins, ends, steps))

    def apply(self, function: Callable[..., Any], *operands: Any) -> Expression:
        """Apply a function of this project that ``implement`` decorates."""
        result: Expression = _FUNCTIONS[function](*operands)
        return result

    def __array_ufunc__(self, ufunc: np.ufunc, _method: str, *operands: Any) -> Expression:
        """Apply an operator or a numpy function to each element."""
        dtype = _common_dtype(operands)
        if dtype.kind == "b":
            ufunc = _OF_BOOL.get(ufunc, ufunc)
        return self.to(UFUNCS[ufunc](*(operand(each, dtype) for each in operands)))

    def __array_function__(
        self, function: Callable[..., Any], _types: Any, args: Any, kwargs: Any
    ) -> Any:
        """Apply a numpy function."""
        return _FUNCTIONS[function](*args, **kwargs)


def emitted(
    builder: relax.BlockBuilder, function: Callable[..., Any], *arguments: Any, **named: Any
) -> relax.Expr:
    """Call a function of arrays with Relax expressions, and return its result as one.

    Args:
        builder: the builder of the code.
        function: returns one tensor.
        *arguments: the function's arguments; a tuple of Relax becomes a list.
        **named: the function's keyword arguments, which are no expressions.
    """

    def array(value: Any) -> Any:
        if not isinstance(value, relax.Expr):
            return value
        if not isinstance(value.ty, relax.TupleType):
            return Expression(builder, value)
        fields = value.fields if isinstance(value, relax.Tuple) else value
        return [Expression(builder, fields[index]) for index in range(len(value.ty.fields))]

    result: relax.Expr = function(*map(array, arguments), **named).value
    return result


def operand(value: Any, dtype: Any) -> relax.Expr:
    """Return an expression, a number or an array as a Relax expression."""
    if isinstance(value, Expression):
        return value.astype(dtype).expr
    return relax.const(np.asarray(value, dtype), str(np.dtype(dtype)))


def _common_dtype(values: Iterable[Any]) -> np.dtype[Any]:
    """Return the common dtype; an open size among the values raises ``OpenSizeError``."""
    known = (int(value) if isinstance(value, Size) else value for value in values)
    return np.result_type(*(getattr(value, "dtype", value) for value in known))


_OF_BOOL: dict[np.ufunc, np.ufunc] = {np.bitwise_and: np.logical_and, np.bitwise_or: np.logical_or}

UFUNCS: dict[np.ufunc, Callable[..., relax.Expr]] = {
    np.absolute: R.abs,
    np.add: R.add,
    np.bitwise_and: R.bitwise_and,
    np.divide: R.divide,
    np.equal: R.equal,
    np.exp: R.exp,
    np.floor: R.floor,
    np.floor_divide: R.floor_divide,
    np.fmin: R.minimum,  # TVM's also takes the second number if the first is NaN.
    np.greater: R.greater,
    np.greater_equal: R.greater_equal,
    np.isfinite: R.isfinite,
    np.isnan: R.isnan,
    np.left_shift: R.left_shift,
    np.less: R.less,
    np.less_equal: R.less_equal,
    np.log: R.log,
    np.logical_and: R.logical_and,
    np.logical_or: R.logical_or,
    np.matmul: R.matmul,
    np.maximum: R.maximum,
    np.minimum: R.minimum,
    np.multiply: R.multiply,
    np.negative: R.negative,
    np.power: R.power,
    np.remainder: R.floor_mod,
    np.right_shift: R.right_shift,
    np.rint: R.round,
    np.sign: R.sign,
    np.sqrt: R.sqrt,
    np.square: R.square,
    np.subtract: R.subtract,
    np.tanh: R.tanh,
    np.trunc: R.trunc,
}
"""Relax's functions by numpy's."""


def _clip(values: Any, low: Any, high: Any) -> Any:
    if values.dtype.kind == "f" and isinstance(low, (int, float)):
        return values.to(R.clip(values.expr, float(low), float(high)))
    return np.minimum(np.maximum(values, low), high)


def _where(condition: Expression, chosen: Any, other: Any) -> Expression:
    dtype = _common_dtype((chosen, other))
    return condition.to(R.where(condition.expr, *(operand(e, dtype) for e in (chosen, other))))


def _concatenate(parts: list[Expression], axis: int) -> Expression:
    return parts[0].to(R.concat([part.expr for part in parts], axis))


def _take(values: Expression, indices: Any, axis: int) -> Expression:
    index = relax.const(np.asarray(indices, np.int32), "int32")
    return values.to(R.take(values.expr, index, axis=axis, mode="clip"))


def _pad(values: Expression, widths: Any, constant_values: int = 0) -> Expression:
    flat = [width for pair in widths for width in pair]
    return values.to(R.nn.pad(values.expr, flat, pad_value=constant_values))


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.broadcast_to: lambda values, shape: values.to(R.broadcast_to(values.expr, shape)),
    np.clip: _clip,
    np.concatenate: _concatenate,
    np.expand_dims: lambda values, axis: values.to(R.expand_dims(values.expr, axis)),
    np.pad: _pad,
    np.take: _take,
    np.transpose: lambda values, axes=None: values.to(R.permute_dims(values.expr, axes)),
    np.where: _where,
    np.zeros_like: lambda values: values.to(R.zeros_like(values.expr)),
}


def implement(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the implementation of a function of this project for expressions."""

    def decorate(implementation: Callable[..., Any]) -> Callable[..., Any]:
        _FUNCTIONS[function] = implementation
        return implementation

    return decorate


def take(table: Any, indices: Any) -> Any:
    """Return the entries of a table; indices beyond its ends count as the ends."""
    # numpy's function dispatches on the table only. TVM warns if the mode is "fast".
    if not isinstance(indices, Expression):
        return np.take(table, indices, mode="clip")
    return indices.to(R.take(operand(table, table.dtype), indices.expr, axis=0, mode="clip"))


def sum_in_order(values: Any) -> Any:
    """Add float32 values along the last axis, one after the other. Every sum is rounded."""
    if isinstance(values, Expression):
        return values.sum(axis=-1, dtype=np.float32, keepdims=True)
    return np.cumsum(values, axis=-1, dtype=np.float32)[..., -1:]
