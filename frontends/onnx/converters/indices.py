"""Gather, GatherElements, OneHot, TopK, EyeLike and Range: operators that use or make indices."""

from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter, formula
from frontends.onnx.read.constants import range_of
from frontends.ranges import of_sizes
from qnn_ops import counted_indices, top_indices
from qnn_ops.dialect.registry import as_const, constant_of, spec_of
from qnn_ops.dialect.sizes import Size

NEAREST = "nearest"
"""An attribute of a node: an index out of range means the nearest one, and is no error.

Two kinds of nodes have it: those of a branch that may not be taken, and those that replace another
operator."""


_FEW = 64
"""The most numbers of a constant, such as a shape, that are indexed at import."""


@converter("Gather")
def _gather(call: Call, data: relax.Expr, indices: relax.Expr) -> relax.Expr:
    axis = call.axis(len(spec_of(data).shape), 0)
    known = [constant_of(each) for each in (data, indices)]
    if known[0] is not None and known[1] is not None and known[0].size <= _FEW:
        with suppress(IndexError):  # the run reports it
            return as_const(np.take(known[0], known[1], axis))
    indices = _counted(call, indices, spec_of(data).shape[axis])
    return R.take(data, indices, axis, mode="clip")


@converter("GatherElements")
def _gather_elements(call: Call, data: relax.Expr, indices: relax.Expr) -> relax.Expr:
    shape = spec_of(data).shape
    axis = call.axis(len(shape), 0)
    return R.gather_elements(data, _counted(call, indices, shape[axis]), axis)


def counted_operands(call: Call) -> list[Any]:
    """Return the operands; indices of GatherND, ScatterElements and ScatterND are checked."""
    if call.op not in ("GatherND", "ScatterElements", "ScatterND"):
        return [*call.given]
    data, indices, *others = call.given
    shape, emit = spec_of(data).shape, call.emit
    if call.op == "ScatterElements":
        return [data, _counted(call, indices, shape[call.axis(len(shape), 0)]), *others]
    first, (*rest, depth) = call.integer("batch_dims"), spec_of(indices).shape
    columns = []
    for number, size in enumerate(shape[first : first + depth]):
        axis = len(rest)
        known = constant_of(indices)
        if known is None:
            column = emit(R.strided_slice(indices, [axis], [number], [number + 1]))
        else:
            column = as_const(known[..., number : number + 1])
        columns.append(_counted(call, column, size))
    counted = columns[0] if len(columns) == 1 else emit(R.concat(columns, len(rest)))
    return [data, counted, *others]


def _counted(call: Call, indices: relax.Expr, size: int) -> relax.Expr:
    """Return indices counted from the first element; an index out of range ends the run."""
    known, dtype, builder = constant_of(indices), spec_of(indices).dtype, call.builder
    is_nearest = bool(call.integer(NEAREST))
    if isinstance(size, Size) and (known is not None or not is_nearest):
        return _counted_open(builder, known, size, dtype)
    if known is not None:
        if known.size and not -size <= known.min() <= known.max() < size:
            raise UnsupportedError(f"indices beyond the {size} that there are")
        return as_const(np.asarray(known % size, known.dtype))
    if size == 0 or 0 in spec_of(indices).shape:
        return indices
    if not is_nearest:
        source = f"{call.op} that gives {call.outputs[0]!r}"
        return builder.emit(counted_indices(indices, size, source, from_end=True))
    given, number = call.array(indices), size
    if isinstance(size, Size):
        number = call.array(of_sizes(builder, np.array([size], object)))
    counted = np.where(given < 0, given + number, given)
    return np.minimum(np.maximum(counted, 0), number - 1).expr


def _counted_open(builder: relax.BlockBuilder, known: Any, size: Any, dtype: str) -> relax.Expr:
    """Return constant indices along an axis of an open size, counted from the first element."""
    if known is None:
        raise UnsupportedError(f"the data choose among the open size {size}")
    if not all(-size <= int(each) < size for each in known.flat):
        raise UnsupportedError(f"indices beyond the {size} that there are")
    if known.min(initial=0) >= 0:
        return as_const(known)
    counted = [each if each >= 0 else size + each for each in map(int, known.flat)]
    found = of_sizes(builder, np.array(counted, object).reshape(known.shape))
    return builder.emit(R.astype(found, dtype))


_MOST = 1 << 24


@formula("OneHot")
def _one_hot(call: Call, indices: Any, _: Any, values: Any) -> Any:
    """Compare indices with the numbers along a new axis, and choose between two values.

    A negative index counts from the end; an index out of range equals none of the numbers.
    """
    count = call.number(1, "the depth")
    shape, dtype = indices.shape, indices.dtype
    if count < 1 or count * int(np.prod(shape, dtype=np.int64)) > _MOST:
        raise UnsupportedError(f"the depth must be from 1 to what memory takes, got {count}")
    if dtype not in ("int32", "int64"):
        raise UnsupportedError(f"indices must be int32 or int64, got {dtype}")
    rank, axis = len(shape), call.integer("axis", -1)
    if not -rank - 1 <= axis <= rank:
        raise UnsupportedError(f"the axis must be from {-rank - 1} to {rank}, got {axis}")
    if values.shape != (2,):
        raise UnsupportedError(f"there must be 2 values, got a shape of {values.shape}")
    axis %= rank + 1
    from_end = indices + count
    counted = np.where(indices < 0, from_end, indices)
    numbers = np.arange(count).astype(dtype).reshape([-1, *[1] * (rank - axis)])
    is_it = np.expand_dims(counted, axis) == numbers
    off, on = (values[n : n + 1].reshape() for n in (0, 1))
    return np.where(is_it, on, off)


@formula("TopK")
def _top_k(call: Call, data: Any) -> relax.Expr:
    """Return the largest or smallest elements along an axis, and their indices, in stable order."""
    number = call.number(1, "the number of elements")
    if not call.integer("sorted", 1):
        raise UnsupportedError("elements in an order that is not told")
    shape = data.shape
    axis = call.axis(len(shape), -1)
    if data.dtype != "float32" or not 0 < number <= shape[axis]:
        raise UnsupportedError(f"{number} of {shape[axis]} elements of {data.dtype}")
    order = [*(each for each in range(len(shape)) if each != axis), axis]
    outer = [shape[each] for each in order[:-1]]
    rows: Any = np.transpose(data, order).reshape(prod(outer), shape[axis])
    keys = rows if call.integer("largest", 1) else -rows
    indices = data.to(top_indices(keys.expr, number))
    back = [order.index(each) for each in range(len(shape))]
    chosen = data.to(R.gather_elements(rows.expr, indices.expr, axis=1))
    results: Any = [each.reshape(*outer, number) for each in (chosen, indices.astype(np.int64))]
    turned: Any = (np.transpose(each, back) for each in results)
    return relax.Tuple([each.expr for each in turned])


@converter("EyeLike")
def _eye_like(call: Call, data: relax.Expr) -> relax.Expr:
    """Return a matrix of the data's shape with ones on a diagonal."""
    shape, dtype = spec_of(data).shape, call.dtype("dtype") or spec_of(data).dtype
    if len(shape) != 2 or np.prod(shape, dtype=np.int64) > _MOST:
        raise UnsupportedError(f"a matrix of shape {shape}")
    return relax.const(np.eye(*shape, k=call.integer("k"), dtype=dtype), dtype)


@converter("Range")
def _range(_: Call, begin: Any, end: Any, step: Any) -> relax.Expr:
    start, limit, delta = map(constant_of, (begin, end, step))
    if start is None or limit is None or delta is None:
        raise UnsupportedError(
            "how many numbers it has depends on the data, which values of inputs at import may tell"
        )
    numbers = range_of(start, limit, delta)
    return as_const(numbers)
