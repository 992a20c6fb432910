"""The values of calls whose operands are known, computed in numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax, tirx

from qnn_ops.arrays import Array
from qnn_ops.dialect.expressions import UFUNCS
from qnn_ops.dialect.registry import attrs_of, operator_of
from qnn_ops.dialect.sizes import sizes_of
from qnn_ops.errors import QnnError


def value_of(call: relax.Call, *operands: Any) -> Any:
    """Compute a call.

    Sums of floats, and what the dialect's operators compute of floats, are left to a run, which may
    round in another way.

    Args:
        call: the call, which has a type.
        *operands: an array for each tensor, a list for a tuple. An array of open sizes holds
            ``Size`` objects, and so does the result.

    Returns:
        An array; a list for a tuple.

    Raises:
        QnnError: numpy has no function that surely gives the same, or the value depends on open
            sizes.
    """
    if (operator := operator_of(call)) is not None:
        attrs = attrs_of(call)
        is_moved = getattr(attrs, "reduction", "") in ("update", "maximum", "minimum")
        if str(call.ty.dtype).startswith("float") and not is_moved:
            raise QnnError(f"{operator.name} may round in another way when it runs")
        if any(each.dtype == object for each in operands):  # arrays of numbers cannot hold sizes
            operands = tuple(each.astype(object) for each in operands)
        return _closed(operator.compute(attrs, *operands), call)
    name = call.op.name.removeprefix("relax.")
    if name in _ELEMENTWISE:
        if name in _OF_INTEGERS and any(each.dtype.kind == "f" for each in operands):
            raise QnnError(f"{name} of floats may have another value when it runs")
        return _closed(_ELEMENTWISE[name](*operands), call)
    if name not in _OTHERS:
        raise QnnError(f"{name} is not computed from constants")
    result = _OTHERS[name](call, *operands)
    return result if isinstance(result, list) else _closed(result, call)


def _closed(value: Any, call: relax.Call) -> Array:
    """Return a result as an array of its dtype, unless a size in it is open."""
    array = np.asarray(value)
    if array.dtype == object and not all(isinstance(each, int) for each in array.ravel()):
        return array
    return array.astype(str(call.ty.dtype), order="C")


def equal(lhs: Array, rhs: Array) -> Any:
    """Tell where two arrays are equal.

    Raises:
        OpenSizeError: the answer depends on open sizes.
    """
    # `Size.__eq__` gives False where it is not proven; the order raises.
    if object in (lhs.dtype, rhs.dtype):
        return np.logical_and(lhs >= rhs, lhs <= rhs)
    return np.equal(lhs, rhs)


def _extremum(of_sizes: np.ufunc, is_chosen: np.ufunc) -> Callable[..., Any]:
    """Return the function that chooses one of two: the second of numbers without an order."""

    def choose(lhs: Array, rhs: Array) -> Any:
        if object in (lhs.dtype, rhs.dtype):  # its `>=` is proven where `>` is not
            return of_sizes(lhs, rhs)
        return np.where(is_chosen(lhs, rhs), lhs, rhs)

    return choose


# Compiled code has other values of NaN, infinities or -0.0 than numpy.
_OF_INTEGERS = ("floor_divide", "floor_mod", "not_equal", "sign")

# Their values of floats depend on the processor's library, or no constants need them.
_LEFT_OUT = (
    *("exp", "isfinite", "log", "matmul", "power"),
    *("sqrt", "square", "tanh", "trunc"),
)

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **{each.__name__: ufunc for ufunc, each in UFUNCS.items() if each.__name__ not in _LEFT_OUT},
    "ceil": np.ceil,
    # NaN becomes the highest number, and is never the larger or the smaller of two.
    "clip": lambda data, low, high: np.fmax(np.fmin(data, high), low),
    "equal": equal,
    "logical_not": np.logical_not,
    "maximum": _extremum(np.maximum, np.greater),
    "minimum": _extremum(np.minimum, np.less),
    "not_equal": lambda lhs, rhs: np.logical_not(equal(lhs, rhs)),
    "where": np.where,
}


def _shape(call: relax.Call) -> tuple[int, ...]:
    return sizes_of(call.ty.shape.values)


def _axes(call: relax.Call) -> list[int] | None:
    return None if call.attrs.axes is None else list(map(int, call.attrs.axes))


def _converted(call: relax.Call, data: Array) -> Array:
    """Return the data, which becomes an array of the call's dtype."""
    if data.dtype == object and not str(call.ty.dtype).startswith("int"):
        raise QnnError("an open size becomes no integer")
    return data


def _reduced(function: np.ufunc) -> Callable[[relax.Call, Array], Array]:
    def reduce(call: relax.Call, data: Array) -> Array:
        if data.dtype.kind == "f":
            raise QnnError("the order of floats is not known")
        axes = None if call.attrs.axis is None else tuple(map(int, call.attrs.axis))
        keep = bool(call.attrs.keepdims)
        return np.asarray(function.reduce(data, axes, data.dtype, keepdims=keep))

    return reduce


def _sliced(_call: relax.Call, data: Array, axes: list[int], *ends: list[int]) -> Array:
    parts = [slice(None)] * data.ndim
    for axis, begin, end, *step in zip(axes, *ends, strict=True):
        parts[axis] = slice(begin, end, *step)
    return data[tuple(parts)]


def _split(call: relax.Call, data: Array) -> list[Array]:
    ends = call.attrs.indices_or_sections
    places = int(ends) if isinstance(ends, tirx.IntImm) else list(map(int, ends))
    return np.split(data, places, int(call.attrs.axis))


_OTHERS: dict[str, Callable[..., Any]] = {
    "arange": lambda _, *ends: np.arange(*ends),
    "astype": _converted,
    "broadcast_to": lambda call, data, _: np.broadcast_to(data, _shape(call)),
    "concat": lambda call, parts: np.concatenate(parts, int(call.attrs.axis)),
    "expand_dims": lambda call, data: data.reshape(_shape(call)),
    "flip": lambda call, data: np.flip(data, int(call.attrs.axis)),
    "full": lambda call, _, value: np.full(_shape(call), value),
    "max": _reduced(np.maximum),
    "min": _reduced(np.minimum),
    "permute_dims": lambda call, data: data.transpose(_axes(call)),
    "prod": _reduced(np.multiply),
    "reshape": lambda call, data, _: data.reshape(_shape(call)),
    "shape_to_tensor": lambda _, shape: np.array(sizes_of(shape.values), object),
    "split": _split,
    "strided_slice": _sliced,
    "sum": _reduced(np.add),
    "take": lambda call, data, indices: np.take(
        data, indices.astype(np.int64), call.attrs.axis, mode="clip"
    ),
    "tile": lambda call, data: np.tile(data, list(map(int, call.attrs.repeats))),
    "zeros": lambda call, _: np.zeros(_shape(call)),
}
