"""Lookups in tables: EMBEDDING_LOOKUP, HASHTABLE_LOOKUP and LSH_PROJECTION."""

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.functions.integers import read_as
from frontends.tflite.converters.layers.hybrid import blocks_of, scales_of, weights_of
from frontends.tflite.converters.moves.gather import checked_indices, flat_indices, take_at
from frontends.tflite.converters.scales import EIGHT_BITS
from frontends.tflite.model import DTYPES
from frontends.tflite.operators import OPERATORS, Row, converter
from qnn_ops import average_rows, hash_signs, scatter_rows
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.errors import QnnError

_OF_SPARSE = ("int32", "int32", "int32", "float32", "float32")
_BITS = 32


def convert_embedding_lookup(ctx: Context) -> Any:
    """Return a table's rows at indices, the first operand; rows of bytes may become real."""
    indices, table = ctx.input(0), ctx.input(1)
    dtype, is_hybrid = ctx.output().dtype, _is_hybrid(ctx)
    if table.dtype != dtype and not is_hybrid:
        raise UnsupportedError(f"{dtype} from a table of {table.dtype}")
    if table.tensor.packed and not is_hybrid:
        packed = table.tensor.packed
        raise UnsupportedError(f"{dtype} from a table of {packed}, which LiteRT does not unpack")
    if len(indices.shape) != 1 or len(table.shape) < 2:
        raise QnnError(f"rows {indices.shape} of a table of shape {table.shape}")
    found = checked_indices(ctx, 0, table.shape[:1])
    if not is_hybrid:
        return take_at(table.expr, found, 0)
    rows, _ = weights_of(ctx, 1)
    scales = scales_of(ctx, 1, table.shape[0])
    taken = ctx.builder.array(take_at(rows, found, 0)).astype("float32")
    if scales.size == 1:
        return rounded(taken * scales[0])
    each = taken.to(take_at(relax.const(scales), found, 0))
    return rounded(taken * np.expand_dims(each, [*range(1, taken.ndim)]))


def _is_hybrid(ctx: Context) -> bool:
    """Tell whether the operator gives real numbers for a table of bytes."""
    table = ctx.tensor(1)
    if ctx.output().dtype != "float32" or table.dtype not in EIGHT_BITS:
        return False
    if table.quantization is not None and table.quantization.zero_point[0] != 0:
        raise QnnError(f"{table.label} has the zero point {table.quantization.zero_point[0]}")
    return True


def convert_embedding_by_block(ctx: Context) -> relax.Expr:
    """Return rows of a table as real numbers.

    Source of the arithmetic: EvalBlockwise of LiteRT's embedding_lookup.cc.
    """
    indices, table = ctx.input(0), ctx.tensor(1)
    array, scales = blocks_of(ctx)
    if len(indices.shape) != 1:
        raise QnnError(f"rows {indices.shape} of a table of shape {table.shape}")
    if not table.packed:
        raise UnsupportedError(f"{table.label} has scales by block, and is neither int4 nor int2")
    found = checked_indices(ctx, 0, table.shape[:1])
    rows = ctx.emit(take_at(weights_of(ctx, 1)[0], found, 0))
    values = ctx.builder.array(reshaped(rows, (*indices.shape, *array.shape[1:])))
    factors = values.to(take_at(relax.const(scales), found, 0))
    product = rounded(values.astype("float32") * np.expand_dims(factors, -1))
    return reshaped(product.expr, (*indices.shape, table.shape[1]))


OPERATORS["EMBEDDING_LOOKUP"] = Row(
    data=convert_embedding_lookup,
    by_block=convert_embedding_by_block,
    unpacks=("constant int4", "constant int2"),
)


@converter("EMBEDDING_LOOKUP_SPARSE", fills=True)
def convert_embedding_lookup_sparse(ctx: Context) -> relax.Expr:
    """Multiply rows of a table by their weights, and add up the rows of each index.

    MEAN divides by the sum of weights, SQRTN by the root of the sum of their squares.
    """
    operands = ctx.inputs()
    dtypes = tuple(operand.dtype for operand in operands)
    if dtypes != _OF_SPARSE:
        raise UnsupportedError(f"of {', '.join(dtypes)}")
    numbers, indices, sizes, weights, table = operands
    emit, wanted, shape = ctx.emit, ctx.integers(2), table.shape
    count, depth = (*numbers.shape, 0)[0], len(wanted)
    fits = len(numbers.shape) == 1 and indices.shape == (count, depth) and depth > 0
    if not fits or weights.shape != (count,) or len(shape) < 2 or len(sizes.shape) != 1:
        raise QnnError(
            f"rows {numbers.shape} at indices {indices.shape} in {wanted}, with weights "
            f"{weights.shape}, of a table of shape {shape}"
        )
    # Rows are added up along the last axis of the indices.
    outer = wanted[:-1]
    if min(outer, default=0) < 0:
        raise QnnError(f"sizes must not be negative, got {wanted}")
    limits = (*outer, 2**31 - 1)
    ctx.check_constant(1, limits, f"indices outside of {limits}")
    result = (*outer, *shape[1:])
    if 0 in (count, *result):
        return R.zeros(result, "float32")
    if 0 in shape:
        raise UnsupportedError(f"{table.label} has no elements")
    taken = ctx.builder.array(take_at(table.expr, checked_indices(ctx, 0, shape[:1]), 0))
    factors = ctx.array(3)
    weighted = rounded(taken.reshape(count, prod(shape[1:])) * factors.reshape(count, 1)).expr
    flat = flat_indices(ctx, indices.expr, (*outer, 1))
    combiner = ctx.options.combiner
    if combiner == "SUM":
        zeros = R.zeros((prod(outer), prod(shape[1:])), "float32")
        combined = scatter_rows(emit(zeros), flat, weighted, "add")
    else:
        is_root = combiner == "SQRTN"
        norms = rounded(factors * factors) if is_root else factors
        combined = average_rows(weighted, norms.expr, flat, prod(outer), is_root)
    return reshaped(emit(combined), result)


@converter("LSH_PROJECTION")
def convert_lsh_projection(ctx: Context) -> Any:
    """Return the signs of sums of hashes, one by one or as bits of one number for each function.

    A function's number also has the function's index, above these bits.
    """
    functions, items = ctx.input(0), ctx.input(1)
    weights = ctx.input(2) if ctx.has(2) else None
    kind, shape = ctx.options.type, items.shape
    dtypes = {each.dtype for each in (functions, weights) if each}
    if dtypes != {"float32"} or ctx.output().dtype != "int32" or kind == "UNKNOWN":
        raise UnsupportedError(f"{kind}, of {', '.join(sorted(dtypes))}, to {ctx.output().dtype}")
    if len(functions.shape) != 2 or functions.shape[1] > _BITS:
        needed = f"needs [functions, bits], of at most {_BITS} bits"
        raise QnnError(f"{functions.label} has shape {functions.shape}, {needed}")
    if weights and weights.shape != shape[:1]:
        raise QnnError(f"{weights.label} has shape {weights.shape}, needs {shape[:1]}")
    if not shape or 0 in (*shape, *functions.shape):
        raise UnsupportedError(f"items of shape {shape}, functions of {functions.shape}")
    count, bits = functions.shape
    if kind == "SPARSE" and bits == _BITS and count > 1:
        raise UnsupportedError(f"{count} functions of {bits} bits: no bits are left for indices")
    emit = ctx.emit
    data = items.expr
    if items.dtype == "bool":
        data = emit(R.astype(data, "uint8"))
    elif items.dtype != "uint8":
        data = emit(read_as(ctx, data, items.dtype, "uint8"))
    size = prod(shape[1:]) * np.dtype(items.dtype).itemsize
    rows = emit(reshaped(data, (shape[0], size)))
    each = weights.expr if weights else emit(R.ones(shape[:1], "float32"))
    seeds = emit(reshaped(functions.expr, (count * bits,)))
    signs = ctx.builder.array(hash_signs(rows, each, seeds))
    if kind == "DENSE":
        return signs
    powers = np.left_shift(np.int64(1), np.arange(bits)[::-1]).astype(np.int32)
    indices = (np.arange(count) << bits).astype(np.int32)
    return (signs.reshape(count, bits) * powers).sum(1, np.int32) + indices


@converter("HASHTABLE_LOOKUP")
def convert_hashtable_lookup(ctx: Context) -> list[Any]:
    """Return the rows of a table with given keys, or zeros, and a flag for each existing key."""
    wanted, keys, table = ctx.inputs(3)
    dtype = table.dtype
    if {wanted.dtype, keys.dtype} != {"int32"} or dtype not in DTYPES:
        raise UnsupportedError(f"of {keys.dtype} in a table of {dtype}")
    if len(wanted.shape) != 1 or keys.shape != table.shape[:1]:
        raise QnnError(f"{keys.shape} keys of a table of shape {table.shape}")
    if 0 in table.shape:
        raise UnsupportedError("of a table without elements")
    if 0 in wanted.shape:
        return [R.zeros((0, *table.shape[1:]), dtype), R.zeros((0,), "uint8")]
    if keys.is_constant and np.any(np.diff(ctx.constant(1)) <= 0):
        raise QnnError(f"{keys.label} must have keys that rise")
    pairs: Any = np.expand_dims(ctx.array(0), 1) == np.expand_dims(ctx.array(1), 0)
    is_key = pairs.astype("int8")
    hits = is_key.max([1])
    taken = is_key.to(take_at(table.expr, ctx.emit(R.argmax(is_key.expr, 1)), 0))
    found: Any = np.expand_dims(hits, [*range(1, taken.ndim)]) > 0
    return [np.where(found, taken, np.zeros((), dtype)), hits.astype("uint8")]
