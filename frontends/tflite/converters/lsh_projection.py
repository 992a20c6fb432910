"""LSH_PROJECTION."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.bitcast import read_as
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import LSHProjectionOptions
from qnn_ops import QnnError, hash_signs

_BITS = 32


@data_converter("LSH_PROJECTION")
def convert_lsh_projection(ctx: Context) -> relax.Expr:
    """Give the signs of sums of hashes: as they are, or those of a function as one number's bits.

    To the number of a function its place is added, above these bits.
    """
    functions, items = ctx.input(0), ctx.input(1)
    weights = ctx.input(2) if ctx.has(2) else None
    kind, shape = ctx.options(LSHProjectionOptions).type, items.shape
    dtypes = [each.tensor.dtype for each in (functions, *([weights] if weights else []))]
    dtypes.append(ctx.output().dtype)
    if {*dtypes[:-1]} != {"float32"} or dtypes[-1] != "int32" or kind == "UNKNOWN":
        raise UnsupportedError(f"{kind}, of {', '.join(dtypes)}")
    if len(functions.shape) != 2 or functions.shape[1] > _BITS:
        raise QnnError(
            f"{functions.tensor.label} has shape {functions.shape}, needs [functions, bits], of at "
            f"most {_BITS} bits"
        )
    if weights and weights.shape != shape[:1]:
        raise QnnError(f"{weights.tensor.label} has shape {weights.shape}, needs {shape[:1]}")
    if not shape or 0 in (*shape, *functions.shape):
        raise UnsupportedError(f"items of shape {shape}, functions of {functions.shape}")
    count, bits = functions.shape
    if kind == "SPARSE" and bits == _BITS and count > 1:
        raise UnsupportedError(f"{count} functions of {bits} bits: no bits are left for places")
    emit = ctx.builder.emit
    data = items.expr
    if items.tensor.dtype == "bool":
        data = emit(R.astype(data, "uint8"))
    elif items.tensor.dtype != "uint8":
        data = emit(read_as(ctx, data, items.tensor.dtype, "uint8"))
    size = prod(shape[1:]) * np.dtype(items.tensor.dtype).itemsize
    rows = emit(reshaped(data, (shape[0], size)))
    each = weights.expr if weights else emit(R.ones(shape[:1], "float32"))
    seeds = emit(reshaped(functions.expr, (count * bits,)))
    signs = emit(hash_signs(rows, each, seeds))
    if kind == "DENSE":
        return signs
    powers = np.left_shift(np.int64(1), np.arange(bits)[::-1]).astype(np.int32)
    places = (np.arange(count) << bits).astype(np.int32)
    parts = emit(R.multiply(emit(reshaped(signs, (count, bits))), relax.const(powers)))
    return R.add(emit(R.sum(parts, [1])), relax.const(places))
