"""DILATE, MATRIX_DIAG, MATRIX_SET_DIAG and HASHTABLE_LOOKUP.

Each element of the result is one of two tensors', by its place.
"""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import DTYPES
from qnn_ops.errors import QnnError
from qnn_ops.registry import TensorSpec

_MOST = 1 << 24  # elements of a matrix


@data_converter("DILATE")
def convert_dilate(ctx: Context) -> relax.Expr:
    """Put so many less one of a value between neighbours along each axis."""
    data, steps, filler = ctx.input(0), ctx.integers(1), ctx.input(2)
    shape, dtype = data.shape, data.tensor.dtype
    if len(steps) != len(shape) or any(step < 1 for step in steps):
        raise QnnError(f"steps {steps} for a tensor of shape {shape}")
    if filler.tensor.dtype != dtype or prod(filler.shape) != 1:
        raise QnnError(f"{filler.tensor.label} must be one {dtype}")
    sizes = tuple((size - 1) * step + 1 for size, step in zip(shape, steps, strict=True))
    if 0 in shape:
        # LiteRT's own kernel ends the process, or gives an axis less than no elements.
        if 0 in shape[:-1] or steps[-1] > 1:
            raise UnsupportedError(f"{data.tensor.label} has no elements")
        return R.zeros([max(0, size) for size in sizes], dtype)
    ctx.check_size(TensorSpec(sizes, dtype))
    result, is_kept = data.expr, np.ones((), bool)
    for axis, (size, step) in enumerate(zip(sizes, steps, strict=True)):
        numbers = np.arange(size, dtype=np.int32)
        result = ctx.builder.emit(R.take(result, relax.const(numbers // step), axis, "clip"))
        is_kept = np.logical_and(is_kept[..., np.newaxis], numbers % step == 0)
    return R.where(relax.const(is_kept), result, reshaped(filler.expr, ()))


@data_converter("MATRIX_DIAG")
def convert_matrix_diag(ctx: Context) -> relax.Expr:
    """Make matrices that have the last axis as their diagonal, and zeros elsewhere."""
    data = ctx.input(0)
    _check_no_bool(data)
    if not data.shape:
        raise UnsupportedError(f"{data.tensor.label} of shape {data.shape}")
    size = data.shape[-1]
    if 0 in data.shape:
        return R.zeros((*data.shape, size), data.tensor.dtype)
    filled = R.broadcast_to(R.expand_dims(data.expr, -1), (*data.shape, size))
    return R.where(_diagonal(size, size), filled, R.zeros((), data.tensor.dtype))


@data_converter("MATRIX_SET_DIAG")
def convert_matrix_set_diag(ctx: Context) -> relax.Expr:
    """Replace the diagonals of matrices."""
    data, diagonal = ctx.input(0), ctx.input(1)
    _check_no_bool(data)
    shape = data.shape
    fits = len(shape) > 1 and diagonal.shape == (*shape[:-2], min(shape[-2:]))
    if not fits or diagonal.tensor.dtype != data.tensor.dtype:
        raise QnnError(f"diagonals of {diagonal.shape} for matrices of {shape}")
    if 0 in shape:
        return data.expr
    axis, rows = len(shape) - 2, relax.const(np.arange(shape[-2], dtype=np.int32))
    taken = ctx.builder.emit(R.take(diagonal.expr, rows, axis, "clip"))
    is_diagonal = _diagonal(shape[-2], shape[-1])
    return R.where(is_diagonal, R.expand_dims(taken, -1), data.expr)


def _diagonal(rows: int, columns: int) -> relax.Expr:
    """Tell of each place of a matrix whether it is on the diagonal."""
    if rows * columns > _MOST:
        raise QnnError(f"a matrix of {rows} rows and {columns} columns is too large")
    return relax.const(np.eye(rows, columns, dtype=bool))


@data_converter("HASHTABLE_LOOKUP")
def convert_hashtable_lookup(ctx: Context) -> list[relax.Expr]:
    """Take the rows of a table whose keys are asked for, or zeros, and tell which there are."""
    wanted, keys, table = ctx.inputs()
    dtype = table.tensor.dtype
    if {wanted.tensor.dtype, keys.tensor.dtype} != {"int32"} or dtype not in DTYPES:
        raise UnsupportedError(f"of {keys.tensor.dtype} in a table of {dtype}")
    if len(wanted.shape) != 1 or keys.shape != table.shape[:1]:
        raise QnnError(f"{keys.shape} keys of a table of shape {table.shape}")
    if 0 in table.shape:
        raise UnsupportedError("of a table without elements")
    if 0 in wanted.shape:
        return [R.zeros((0, *table.shape[1:]), dtype), R.zeros((0,), "uint8")]
    if keys.tensor.is_constant and np.any(np.diff(ctx.constant(1)) <= 0):
        raise QnnError(f"{keys.tensor.label} must have keys that rise")
    columns, row = reshaped(wanted.expr, (-1, 1)), reshaped(keys.expr, (1, -1))
    is_key = ctx.builder.emit(R.astype(R.equal(columns, row), "int8"))
    places = ctx.builder.emit(R.argmax(is_key, 1))
    hits = ctx.builder.emit(R.max(is_key, 1))
    found = R.greater(reshaped(hits, (*wanted.shape, *[1] * (len(table.shape) - 1))), _zero("int8"))
    taken = R.take(table.expr, places, 0, "clip")
    return [R.where(found, taken, _zero(dtype)), R.astype(hits, "uint8")]


def _check_no_bool(data: Operand) -> None:
    if data.tensor.dtype == "bool":
        raise UnsupportedError("of bool, for which LiteRT's own kernel writes beyond the result")


def _zero(dtype: str) -> relax.Expr:
    return relax.const(np.zeros((), dtype), dtype)
