"""EMBEDDING_LOOKUP_SPARSE."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.gather import checked_places, take_at
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.converters.stablehlo_gather import strides_of
from frontends.tflite.options import EmbeddingLookupSparseOptions
from qnn_ops import QnnError, average_rows, scatter_rows
from qnn_ops.rounded import rounded

_DTYPES = ("int32", "int32", "int32", "float32", "float32")


@data_converter("EMBEDDING_LOOKUP_SPARSE")
def convert_embedding_lookup_sparse(ctx: Context) -> relax.Expr:
    """Take rows of a table, each times its weight, and add up those of one place.

    MEAN divides by the sum of weights, SQRTN by the root of the sum of their squares.
    """
    operands = ctx.inputs()
    dtypes = tuple(operand.tensor.dtype for operand in operands)
    if dtypes != _DTYPES:
        raise UnsupportedError(f"of {', '.join(dtypes)}")
    numbers, places, sizes, weights, table = operands
    emit, wanted, shape = ctx.builder.emit, ctx.integers(2), table.shape
    count, depth = (*numbers.shape, 0)[0], len(wanted)
    fits = len(numbers.shape) == 1 and places.shape == (count, depth) and depth > 0
    if not fits or weights.shape != (count,) or len(shape) < 2 or len(sizes.shape) != 1:
        raise QnnError(
            f"rows {numbers.shape} at places {places.shape} in {wanted}, with weights "
            f"{weights.shape}, of a table of shape {shape}"
        )
    # The last axis of the places is that along which rows are added up.
    outer = wanted[:-1]
    if min(outer, default=0) < 0:
        raise QnnError(f"sizes must not be negative, got {wanted}")
    tensor, limits = ctx.tensor(1), (*outer, 2**31 - 1)
    if tensor.is_constant:
        known = ctx.constant(1)
        if np.any(known < 0) or np.any(known >= np.array(limits)):
            raise QnnError(f"{tensor.label} has places outside of {limits}")
    result = (*outer, *shape[1:])
    if 0 in (count, *result):
        return R.zeros(result, "float32")
    if 0 in shape:
        raise UnsupportedError(f"{table.tensor.label} has no elements")
    taken = emit(take_at(table.expr, checked_places(ctx, 0, shape[:1]), 0))
    rows = reshaped(taken, (count, prod(shape[1:])))
    weighted = rounded(emit(R.multiply(rows, reshaped(weights.expr, (count, 1)))))
    steps = relax.const(np.array([[*strides_of(outer), 0]], np.int32))
    last = relax.const(np.array([[*(size - 1 for size in outer), 0]], np.int32))
    inside = R.maximum(R.minimum(places.expr, last), relax.const(np.int32(0)))
    flat = emit(R.sum(emit(R.multiply(inside, steps)), [1]))
    combiner = ctx.options(EmbeddingLookupSparseOptions).combiner
    if combiner == "SUM":
        zeros = R.zeros((prod(outer), prod(shape[1:])), "float32")
        combined = scatter_rows(emit(zeros), flat, emit(weighted), "add")
    else:
        is_root = combiner == "SQRTN"
        squares = rounded(emit(R.multiply(weights.expr, weights.expr)))
        norms = emit(squares) if is_root else weights.expr
        combined = average_rows(emit(weighted), norms, flat, prod(outer), is_root)
    return reshaped(emit(combined), result)
