"""The arithmetic of shapes and of small tables."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod
from typing import Any

import numpy as np

from frontends.tflite.axes import axis_of
from frontends.tflite.folding.node import DTYPES, MOST, Array, Node, Rule, broadcast
from frontends.tflite.options.values import CumsumOptions, ReducerOptions
from qnn_ops.errors import QnnError


def _elementwise(function: Callable[[Array, Array], Any]) -> Rule:
    def rule(node: Node) -> Array | None:
        lhs, rhs = node.operands
        if node.is_active or lhs.dtype != rhs.dtype or lhs.dtype == bool or not node.is_small:
            return None
        return np.asarray(function(lhs, rhs))

    return rule


def _floored(function: Callable[[Array, Array], Any]) -> Rule:
    def rule(node: Node) -> Array | None:
        lhs, rhs = node.operands
        if lhs.dtype != rhs.dtype or lhs.dtype.kind != "i" or (rhs == 0).any():
            return None
        return np.asarray(function(lhs, rhs)) if node.is_small else None

    return rule


def _of_one(function: Callable[[Array], Any], kinds: str) -> Rule:
    def rule(node: Node) -> Array | None:
        (data,) = node.operands
        return np.asarray(function(data)) if data.dtype.kind in kinds else None

    return rule


def _quotient(node: Node) -> Array | list[Array] | None:
    """Divide; integers round towards zero."""
    lhs, rhs = node.operands
    if lhs.dtype == np.float32:
        return _elementwise(np.divide)(node)
    if (rhs == 0).any() or lhs.dtype != np.int32:
        return None
    return _elementwise(lambda lhs, rhs: (lhs - np.fmod(lhs, rhs)) // rhs)(node)


def _zeros_like(node: Node) -> Array:
    return np.zeros_like(node.operands[0])


def _compared(function: Callable[[Array, Array], Any]) -> Rule:
    def rule(node: Node) -> Array | None:
        lhs, rhs = node.operands
        return np.asarray(function(lhs, rhs)) if lhs.dtype == rhs.dtype and node.is_small else None

    return rule


def _select(node: Node) -> Array | None:
    condition, chosen, other = node.operands
    is_plain = node.operator.code == "SELECT_V2" or len({each.shape for each in node.operands}) == 1
    if condition.dtype != bool or chosen.dtype != other.dtype or not is_plain or not node.is_small:
        return None
    result = np.where(condition, chosen, other)
    # LiteRT lets the result of single elements be of the shape that the file says.
    is_single = result.size == prod(node.result.shape) == 1
    return result.reshape(node.result.shape) if is_single else result


def _cumsum(node: Node) -> Array | None:
    data, place = node.operands
    options, axis = node.options(CumsumOptions), axis_of(place.item(), data.ndim)
    if data.dtype.kind != "i":
        return None
    ordered = np.flip(data, axis) if options.reverse else data
    sums = np.cumsum(ordered, axis, data.dtype) - (ordered if options.exclusive else 0)
    return np.asarray(np.flip(sums, axis) if options.reverse else sums)


def _reduced(function: np.ufunc, kind: str = "i") -> Rule:
    def rule(node: Node) -> Array | None:
        data, axes = node.operands
        if data.dtype.kind != kind or not data.ndim or not data.size:
            return None
        along = tuple({axis_of(int(axis), data.ndim) for axis in axes.ravel()})
        keep = node.options(ReducerOptions).keep_dims
        return np.asarray(function.reduce(data, along, data.dtype, keepdims=keep))

    return rule


def _cast(node: Node) -> Array | None:
    (data,) = node.operands
    dtype = node.result.dtype
    if dtype not in DTYPES or data.dtype != np.float32 or dtype in ("bool", "float32"):
        return data.astype(dtype) if dtype in DTYPES else None
    info = np.iinfo(dtype)
    # float64 holds every float32, and int64's ends as powers of two.
    wide = data.astype(np.float64)
    inside = np.where(np.abs(wide) < float(info.max), wide, 0.0).astype(dtype)
    ends = np.where(wide <= float(info.min), info.min, info.max).astype(dtype)
    return np.where(np.abs(wide) < float(info.max), inside, ends)


def _range(node: Node) -> Array | None:
    """Source: GetSize and CalculateRange of TFLite's kernels/range.cc."""
    if len({each.dtype for each in node.operands}) > 1 or node.operands[0].dtype == bool:
        return None
    start, limit, step = (each.item() for each in node.operands)
    if not np.isfinite([start, limit, step]).all():
        return None
    if step == 0 or (limit - start) * step < 0:
        raise QnnError(f"no numbers lead from {start} to {limit} by steps of {step}")
    dtype = node.operands[0].dtype
    if dtype == np.float32:
        count = ceil(abs(np.float32(limit - start) / np.float32(step)))
    else:
        count = (abs(limit - start) + abs(step) - 1) // abs(step)
    if count > MOST:
        return None
    # Each is the one before it plus a step, rounded as often.
    steps = np.array([start, *[step] * (count - 1)][:count], dtype)
    return np.add.accumulate(steps, dtype=dtype)


def _broadcast_args(node: Node) -> Array:
    shapes = [node.sizes(position) for position in range(2)]
    return np.array(broadcast(shapes), node.operands[0].dtype)


def _where(node: Node) -> Array | None:
    """List the places at which something else than 0 stands."""
    (data,) = node.operands
    return np.argwhere(data).astype(np.int64) if data.ndim else None


RULES: dict[str, Rule] = {
    "ABS": _of_one(np.abs, "if"),
    "ADD": _elementwise(np.add),
    "BROADCAST_ARGS": _broadcast_args,
    "CAST": _cast,
    "CEIL": _of_one(np.ceil, "f"),
    "CUMSUM": _cumsum,
    "DIV": _quotient,
    "EQUAL": _compared(np.equal),
    "FLOOR": _of_one(np.floor, "f"),
    "FLOOR_DIV": _floored(np.floor_divide),
    "FLOOR_MOD": _floored(np.mod),
    "GREATER": _compared(np.greater),
    "GREATER_EQUAL": _compared(np.greater_equal),
    "LESS": _compared(np.less),
    "LESS_EQUAL": _compared(np.less_equal),
    "LOGICAL_AND": _compared(np.logical_and),
    "LOGICAL_NOT": _of_one(np.logical_not, "b"),
    "LOGICAL_OR": _compared(np.logical_or),
    "MAXIMUM": _elementwise(np.maximum),
    "MINIMUM": _elementwise(np.minimum),
    "MUL": _elementwise(np.multiply),
    "NEG": _of_one(np.negative, "if"),
    "NOT_EQUAL": _compared(np.not_equal),
    "RANGE": _range,
    "REDUCE_ALL": _reduced(np.logical_and, "b"),
    "REDUCE_ANY": _reduced(np.logical_or, "b"),
    "REDUCE_MAX": _reduced(np.maximum),
    "REDUCE_MIN": _reduced(np.minimum),
    "REDUCE_PROD": _reduced(np.multiply),
    "ROUND": _of_one(np.rint, "f"),
    "SELECT": _select,
    "SELECT_V2": _select,
    "SUB": _elementwise(np.subtract),
    "SUM": _reduced(np.add),
    "WHERE": _where,
    "ZEROS_LIKE": _zeros_like,
}
