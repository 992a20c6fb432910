"""Values of tensors that hold sizes: arrays of numbers and of open sizes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frontends.onnx.read.standard import INT32, INT64
from qnn_ops.dialect.known_values import equal
from qnn_ops.dialect.sizes import OpenSizeError, Size

Array = np.ndarray[Any, Any]
Attributes = dict[str, Any]


def value_of(op: str, operands: Sequence[Array | None], attributes: Attributes) -> Array | None:
    """Return the value of a node whose operands are known; None for another operator.

    Args:
        op: the operator.
        operands: int64, or ``Size`` objects among numbers; None for an operand that is left out.
        attributes: of the node.

    Raises:
        OpenSizeError: no expression of open sizes can represent the value.
    """
    if (rule := _RULES.get(op)) is None:
        return None
    return plain(np.asarray(rule([*operands, *[None] * 5], attributes)))


def plain(value: Array) -> Array:
    """Return integers as int64 if no size among them is open."""
    if value.dtype != object:
        return value
    if any(isinstance(each, Size) for each in value.flat):
        return value
    if any(isinstance(each, bool | np.bool_) for each in value.flat):
        return value.astype(bool)
    return value.astype(np.int64)


Rule = Callable[[list[Any], Attributes], Any]


def _ints(operand: Array | None, default: Any) -> list[int]:
    return [int(each) for each in np.ravel(default if operand is None else operand)]


def _cast(given: list[Any], attributes: Attributes) -> Array:
    if attributes.get("to") not in (INT32, INT64):
        raise OpenSizeError("a size is cast to no integer")
    return np.asarray(given[0])


def _gather(given: list[Any], attributes: Attributes) -> Any:
    return np.take(given[0], given[1].astype(np.int64), axis=int(attributes.get("axis", 0)))


def _slice(given: list[Any], attributes: Attributes) -> Array:
    data, begins, ends = given[:3]
    begins = _ints(begins, attributes.get("starts", []))
    ends = _ints(ends, attributes.get("ends", []))
    axes = _ints(given[3], attributes.get("axes", range(len(begins))))
    steps = _ints(given[4], [1] * len(begins))
    index = [slice(None)] * data.ndim
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        low = None if step < 0 and end < -data.shape[axis] else end
        index[axis] = slice(begin, low, step)
    return np.asarray(data[tuple(index)])


def _axes(given: list[Any], attributes: Attributes) -> tuple[int, ...] | None:
    found = given[1] if given[1] is not None else attributes.get("axes")
    return None if found is None else tuple(_ints(None, found))


def _concat(given: list[Any], attributes: Attributes) -> Array:
    parts = [each for each in given if each is not None]
    return np.concatenate([each.astype(object) for each in parts], int(attributes["axis"]))


def _each(function: Callable[..., Any]) -> Rule:
    def rule(given: list[Any], _: Attributes) -> Any:
        operands = [np.asarray(each, object) for each in given if each is not None]
        return np.frompyfunc(function, len(operands), 1)(*operands)

    return rule


def _divided(value: Any, by: Any) -> Any:
    """Divide integers, and round towards zero."""
    if value >= 0 and by > 0:
        return value // by
    if isinstance(value, Size) or isinstance(by, Size):
        raise OpenSizeError("a size that may be below 0 is divided")
    return int(np.trunc(value / by))


def _reduced(given: list[Any], attributes: Attributes) -> Any:
    keeps = bool(attributes.get("keepdims", 1))
    axes: Any = _axes(given, attributes)
    return np.prod(given[0].astype(object), axis=axes, keepdims=keeps)


def _expand(given: list[Any], _: Attributes) -> Array:
    shape = np.broadcast_shapes(given[0].shape, tuple(_ints(given[1], ())))
    return np.broadcast_to(given[0], shape)


def _filled(given: list[Any], attributes: Attributes) -> Array:
    from frontends.onnx.read.constants import array_of

    value = array_of(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    return np.full(_ints(given[0], ()), value.item(), value.dtype)


_RULES: dict[str, Rule] = {
    "Add": _each(lambda a, b: a + b),
    "And": _each(lambda a, b: bool(a) and bool(b)),
    "Cast": _cast,
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "Div": _each(_divided),
    "Equal": lambda given, _: equal(*(np.asarray(each, object) for each in given[:2])),
    "Expand": _expand,
    "Gather": _gather,
    "Greater": _each(lambda a, b: a > b),
    "GreaterOrEqual": _each(lambda a, b: a >= b),
    "Identity": lambda given, _: given[0],
    "Less": _each(lambda a, b: a < b),
    "LessOrEqual": _each(lambda a, b: a <= b),
    "Max": _each(max),
    "Min": _each(min),
    "Mod": _each(lambda a, b: a % b),
    "Mul": _each(lambda a, b: a * b),
    "Neg": _each(lambda a: -a),
    "Not": _each(lambda a: not a),
    "Or": _each(lambda a, b: bool(a) or bool(b)),
    "ReduceProd": _reduced,
    "Reshape": lambda given, _: np.reshape(given[0], _ints(given[1], ())),
    "Slice": _slice,
    "Squeeze": lambda given, attributes: np.squeeze(given[0], _axes(given, attributes)),
    "Sub": _each(lambda a, b: a - b),
    "Unsqueeze": lambda given, attributes: np.expand_dims(given[0], _axes(given, attributes) or ()),
    "Where": _each(lambda condition, one, other: one if condition else other),
}
"""By the name of the operator."""
