"""Rules for layers with weights of a few bits: the kernels serve constant weights."""

from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R

from legalize.kernels.blockwise.integers import (
    adjacent_units,
    integer_rows,
    is_served,
    multiplies_quads,
)
from legalize.kernels.blockwise.kernel import MOST_ROWS, few_rows, many_rows
from legalize.kernels.blockwise.spec import GROUP, Blockwise, one_point, point_dtype
from legalize.kernels.call import call_tir
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands, VectorRule
from qnn_ops import blockwise_dense
from qnn_ops.dialect.registry import Attrs, Operator, as_const, constant_of, spec_of
from qnn_ops.quantized.blockwise_dense import middle_of


def _multiply(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    shape = spec_of(operands[0]).shape
    constants = [array for each in operands[1:] if (array := constant_of(each)) is not None]
    if len(constants) < len(operands) - 1 or 0 in shape:
        return None
    weights, scales, *points = constants
    rows, units = prod(shape[:-1]), len(scales)
    if not units:
        return None
    one = one_point(points, middle_of(attrs.bits))
    dtype = point_dtype(points[0]) if one is None else ""
    how = attrs.bits, attrs.block_size, dtype, one or 0.0
    is_integer, depth = attrs.quantizes_data, shape[-1]
    if is_integer:  # zeros change neither the largest number of a block nor its sums
        depth += -depth % attrs.block_size
    quads = is_integer and multiplies_quads(isa, attrs.bits)
    most = adjacent_units(isa, attrs.bits) if is_integer else GROUP
    spec = Blockwise(rows, depth, units, *how, has_quads=quads, most_adjacent=most)
    if is_integer and not is_served(spec):
        return None
    function = _function(spec, isa, is_integer=is_integer)
    packed = spec.packed(weights, scales, *points)
    matrix, whole = (rows, shape[-1]), (*shape[:-1], units)
    data = operands[0] if shape == matrix else builder.emit(R.reshape(operands[0], matrix))
    if depth > shape[-1]:
        zeros = relax.const(np.zeros((rows, depth - shape[-1]), np.float32))
        data = builder.emit(R.concat([data, zeros], 1))
    given = [data, *(as_const(array) for array in packed)]
    result = call_tir(builder, "blockwise_dense", function, given, (rows, units), "float32")
    return result if shape == matrix else builder.emit(R.reshape(result, whole))


def _function(spec: Blockwise, isa: VectorIsa, *, is_integer: bool) -> tirx.PrimFunc:
    if is_integer:
        return integer_rows(isa, spec)
    return few_rows(isa, spec) if spec.rows <= MOST_ROWS else many_rows(isa, spec)


RULES: tuple[tuple[Operator[Any], VectorRule], ...] = ((blockwise_dense, _multiply),)
