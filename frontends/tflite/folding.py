"""What follows from shapes and constants alone, computed when a model is imported.

Converters leave the shapes of a Flatten or a resize to be worked out by the model: SHAPE, parts of
it, products, a new vector. For the shapes that a model is imported for these are numbers. What
depends on the data of a run stays an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any

import numpy as np

from frontends.tflite.converters.context import axis_of
from frontends.tflite.converters.slice_masks import sliced_axes
from frontends.tflite.model import Model, Operator, Tensor
from frontends.tflite.options import (
    ConcatenationOptions,
    GatherOptions,
    PackOptions,
    ReducerOptions,
    ShapeOptions,
    StridedSliceOptions,
)
from qnn_ops.errors import QnnError

Array = np.ndarray[Any, Any]

# Shapes, and small tables made of them; what is larger is data.
_MOST = 1 << 12
_DTYPES = ("int32", "int64", "bool", "float32")


@dataclass(frozen=True)
class _Node:
    """An operator whose operands are known."""

    operator: Operator
    result: Tensor
    operands: tuple[Array, ...]

    def options(self, kind: type[Any]) -> Any:
        if not isinstance(self.operator.options, kind):
            raise QnnError(f"has no {kind.__name__}")
        return self.operator.options

    @property
    def is_active(self) -> bool:
        """Whether an activation is fused into it."""
        return getattr(self.operator.options, "activation", "NONE") != "NONE"

    def sizes(self, position: int) -> tuple[int, ...]:
        """Read an operand of sizes, of which the result has only so many elements."""
        sizes = tuple(int(size) for size in self.operands[position].ravel())
        if any(size < 0 for size in sizes):
            raise QnnError(f"sizes must not be negative, got {sizes}")
        return sizes


_Rule = Callable[[_Node], "Array | None"]
"""Gives the result; None where the operator is left to its converter."""


def fold(
    model: Model, operator: Operator, shape_of: Callable[[Tensor], tuple[int, ...]]
) -> Model | None:
    """Compute an operator of known operands.

    Args:
        model: with what was computed before as constants.
        operator: of it.
        shape_of: tells the shape of a tensor that is no constant.

    Returns:
        The model with the result as a constant; None if the operator is to be converted.

    Raises:
        QnnError: if its operands do not go together.
    """
    if len(operator.outputs) != 1:
        return None
    result = model.tensors[operator.outputs[0]]
    if operator.code == "DENSIFY" and len(operator.inputs) == 1:
        return _densified(model, operator, result)
    array = _of_shape(model, operator, shape_of)
    if array is None:
        operands = _known(model, operator)
        rule = _RULES.get(operator.code)
        if rule is None or operands is None:
            return None
        try:
            with np.errstate(all="ignore"):
                array = rule(_Node(operator, result, operands))
        except (IndexError, TypeError, ValueError) as error:
            raise QnnError(f"its operands do not go together: {error}") from error
    if array is None or array.dtype.name != result.dtype or array.size > _MOST:
        return None
    tensors = list(model.tensors)
    tensors[result.index] = replace(result, data=array, shape=array.shape)
    return replace(model, tensors=tuple(tensors))


def _densified(model: Model, operator: Operator, result: Tensor) -> Model | None:
    """Take the operand, which was made dense when it was read, however large it is."""
    data = model.tensors[operator.inputs[0]].data
    if data is None or data.dtype.name != result.dtype:
        return None
    tensors = list(model.tensors)
    tensors[result.index] = replace(result, data=data, shape=data.shape)
    return replace(model, tensors=tuple(tensors))


def _of_shape(
    model: Model, operator: Operator, shape_of: Callable[[Tensor], tuple[int, ...]]
) -> Array | None:
    """Compute what depends on the shape of an operand only."""
    if operator.code not in ("SHAPE", "RANK") or len(operator.inputs) != 1:
        return None
    tensor = model.tensors[operator.inputs[0]]
    shape = tensor.shape if tensor.is_constant else shape_of(tensor)
    if operator.code == "RANK":
        return np.array(len(shape), np.int32)
    if not isinstance(operator.options, ShapeOptions):
        return None
    return np.array(shape, operator.options.out_type)


def _known(model: Model, operator: Operator) -> tuple[Array, ...] | None:
    operands = []
    for index in operator.inputs:
        tensor = model.tensors[index]
        if index < 0 or not tensor.is_constant or tensor.dtype not in _DTYPES:
            return None
        data = np.zeros(tensor.shape, tensor.dtype) if tensor.data is None else tensor.data
        if data.size > _MOST:
            return None
        operands.append(data)
    return tuple(operands) or None


def _elementwise(function: Callable[[Array, Array], Any]) -> _Rule:
    def rule(node: _Node) -> Array | None:
        lhs, rhs = node.operands
        if node.is_active or lhs.dtype != rhs.dtype or lhs.dtype == bool:
            return None
        return np.asarray(function(lhs, rhs))

    return rule


def _floored(function: Callable[[Array, Array], Any]) -> _Rule:
    def rule(node: _Node) -> Array | None:
        lhs, rhs = node.operands
        if lhs.dtype != rhs.dtype or lhs.dtype.kind != "i" or (rhs == 0).any():
            return None
        return np.asarray(function(lhs, rhs))

    return rule


def _zeros_like(node: _Node) -> Array:
    return np.zeros_like(node.operands[0])


def _compared(function: Callable[[Array, Array], Any]) -> _Rule:
    def rule(node: _Node) -> Array | None:
        lhs, rhs = node.operands
        return np.asarray(function(lhs, rhs)) if lhs.dtype == rhs.dtype else None

    return rule


def _logical_not(node: _Node) -> Array | None:
    (data,) = node.operands
    return ~data if data.dtype == bool else None


def _pack(node: _Node) -> Array:
    axis = axis_of(node.options(PackOptions).axis, node.operands[0].ndim + 1)
    return np.stack(node.operands, axis)


def _concatenation(node: _Node) -> Array | None:
    if node.is_active or len({each.dtype for each in node.operands}) > 1:
        return None
    axis = axis_of(node.options(ConcatenationOptions).axis, node.operands[0].ndim)
    return np.concatenate(node.operands, axis)


def _strided_slice(node: _Node) -> Array | None:
    data, *bounds = node.operands
    options = node.options(StridedSliceOptions)
    begins, ends, steps = (tuple(int(each) for each in bound.ravel()) for bound in bounds)
    if not len(begins) == len(ends) == len(steps):
        return None
    axes = sliced_axes(data.shape, begins, ends, steps, options)
    for axis, each in enumerate(each for each in axes if not each.is_new):
        data = np.take(data, np.array(each.places, np.intp), axis)
    return data.reshape([len(each.places) for each in axes if not each.is_dropped])


def _gather(node: _Node) -> Array | None:
    data, places = node.operands
    options = node.options(GatherOptions)
    axis = axis_of(options.axis, data.ndim)
    if options.batch_dims or places.dtype.kind != "i" or not data.size or not places.size:
        return None
    if places.min() < 0 or places.max() >= data.shape[axis]:
        return None
    return np.take(data, places, axis)


def _reduce_prod(node: _Node) -> Array | None:
    data, axes = node.operands
    if data.dtype.kind != "i" or not data.ndim:
        return None
    along = tuple({axis_of(int(axis), data.ndim) for axis in axes.ravel()})
    keep = node.options(ReducerOptions).keep_dims
    return np.asarray(np.prod(data, along, data.dtype, keepdims=keep))


def _cast(node: _Node) -> Array | None:
    (data,) = node.operands
    dtype = node.result.dtype
    if dtype not in _DTYPES or data.dtype != np.float32 or dtype in ("bool", "float32"):
        return data.astype(dtype) if dtype in _DTYPES else None
    info = np.iinfo(dtype)
    # float64 holds every float32, and int64's ends as powers of two.
    wide = data.astype(np.float64)
    inside = np.where(np.abs(wide) < float(info.max), wide, 0.0).astype(dtype)
    ends = np.where(wide <= float(info.min), info.min, info.max).astype(dtype)
    return np.where(np.abs(wide) < float(info.max), inside, ends)


def _range(node: _Node) -> Array | None:
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
    if count > _MOST:
        return None
    # Each is the one before it plus a step, rounded as often.
    steps = np.array([start, *[step] * (count - 1)][:count], dtype)
    return np.add.accumulate(steps, dtype=dtype)


def _fill(node: _Node) -> Array | None:
    shape, value = node.sizes(0), node.operands[1]
    return np.full(shape, value) if prod(shape) <= _MOST and value.shape == () else None


def _broadcast_to(node: _Node) -> Array | None:
    shape = node.sizes(1)
    return np.broadcast_to(node.operands[0], shape).copy() if prod(shape) <= _MOST else None


def _broadcast_args(node: _Node) -> Array:
    shapes = [node.sizes(position) for position in range(2)]
    return np.array(_broadcast(shapes), node.operands[0].dtype)


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Do what numpy does, without an array of that size."""
    rank = max(map(len, shapes))
    rows = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*rows, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise QnnError(f"shapes {shapes} cannot be broadcast")
        result.append(others.pop() if others else 1)
    return tuple(result)


def _reshape(node: _Node) -> Array | None:
    if len(node.operands) != 2 or node.operands[1].ndim != 1:
        return None
    shape = [int(size) for size in node.operands[1]]
    return node.operands[0].reshape(shape) if 0 not in shape else None


def _squeeze(node: _Node) -> Array | None:
    (data,) = node.operands
    return data.reshape(()) if data.shape == (1,) else None


def _expand_dims(node: _Node) -> Array:
    data, axis = node.operands
    return np.expand_dims(data, axis_of(int(axis.item()), data.ndim + 1))


def _where(node: _Node) -> Array | None:
    """List the places at which something else than 0 stands."""
    (data,) = node.operands
    return np.argwhere(data).astype(np.int64) if data.ndim else None


_RULES: dict[str, _Rule] = {
    "ADD": _elementwise(np.add),
    "BROADCAST_ARGS": _broadcast_args,
    "BROADCAST_TO": _broadcast_to,
    "CAST": _cast,
    "CONCATENATION": _concatenation,
    "EQUAL": _compared(np.equal),
    "EXPAND_DIMS": _expand_dims,
    "FILL": _fill,
    "FLOOR_DIV": _floored(np.floor_divide),
    "FLOOR_MOD": _floored(np.mod),
    "GATHER": _gather,
    "GREATER": _compared(np.greater),
    "GREATER_EQUAL": _compared(np.greater_equal),
    "LESS": _compared(np.less),
    "LESS_EQUAL": _compared(np.less_equal),
    "LOGICAL_AND": _compared(np.logical_and),
    "LOGICAL_NOT": _logical_not,
    "LOGICAL_OR": _compared(np.logical_or),
    "MAXIMUM": _elementwise(np.maximum),
    "MINIMUM": _elementwise(np.minimum),
    "MUL": _elementwise(np.multiply),
    "NOT_EQUAL": _compared(np.not_equal),
    "PACK": _pack,
    "RANGE": _range,
    "REDUCE_PROD": _reduce_prod,
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided_slice,
    "SUB": _elementwise(np.subtract),
    "WHERE": _where,
    "ZEROS_LIKE": _zeros_like,
}

FOLDED = frozenset({*_RULES, "DENSIFY", "RANK", "SHAPE"})
"""Operators that are computed here, where their operands are known."""
