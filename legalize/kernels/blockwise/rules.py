"""Rules for layers with weights of a few bits: the kernels serve constant weights."""

from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R

from legalize.kernels.blockwise import tiles
from legalize.kernels.blockwise.integers import (
    adjacent_units,
    integer_rows,
    is_served,
    multiplies_quads,
)
from legalize.kernels.blockwise.kernel import MOST_ROWS, few_rows, many_rows
from legalize.kernels.blockwise.spec import GROUP, Blockwise, one_point, point_dtype
from legalize.kernels.call import call_tir
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.x86 import AMX
from legalize.kernels.isa.x86_vectors import AVX512_VNNI
from legalize.kernels.kernel import Builder, Lowered, Operands, Row, VectorRule
from qnn_ops import blockwise_dense
from qnn_ops.dialect.registry import Attrs, Operator, as_const, constant_of, spec_of
from qnn_ops.quantized.blockwise_dense import middle_of


class Layer(NamedTuple):
    """A layer of constant weights.

    Attributes:
        spec: its shape.
        constants: weights, scales, and perhaps zero points, as the operator takes them.
        is_integer: whether products are of integers.
        ends: the least and the greatest zero point.
    """

    spec: Blockwise
    constants: list[Array]
    is_integer: bool
    ends: tuple[float, float]

    @property
    def fits_tiles(self) -> bool:
        """Whether AMX's tiles take less time than vectors."""
        return self.is_integer and tiles.is_served(self.spec, self.ends)


def layer_of(attrs: Attrs, operands: Operands, isa: VectorIsa) -> Layer | None:
    """Describe a call; None if no kernel serves it."""
    shape = spec_of(operands[0]).shape
    constants = [array for each in operands[1:] if (array := constant_of(each)) is not None]
    if len(constants) < len(operands) - 1 or 0 in shape or not len(constants[1]):
        return None
    _, scales, *points = constants
    one = one_point(points, middle_of(attrs.bits))
    dtype = point_dtype(points[0]) if one is None else ""
    is_integer, depth = attrs.quantizes_data, shape[-1]
    if is_integer:  # zeros change neither the largest number of a block nor its sums
        depth += -depth % attrs.block_size
    quads = is_integer and multiplies_quads(isa, attrs.bits)
    most = adjacent_units(isa, attrs.bits) if is_integer else GROUP
    spec = Blockwise(
        *(prod(shape[:-1]), depth, len(scales), attrs.bits, attrs.block_size),
        points=dtype,
        middle=one or 0.0,
        has_quads=quads,
        most_adjacent=most,
    )
    if is_integer and not is_served(spec):
        return None
    ends = (one, one) if one is not None else (points[0].min(), points[0].max())
    return Layer(spec, constants, is_integer, ends)


def _multiply(
    builder: Builder,
    attrs: Attrs,
    operands: Operands,
    *,
    isa: VectorIsa,
    has_tiles: bool = False,
) -> Lowered:
    layer = layer_of(attrs, operands, isa)
    if layer is None:
        return None
    spec, shape = layer.spec, spec_of(operands[0]).shape
    if has_tiles and layer.fits_tiles:
        function = tiles.tile_rows(spec)
    else:
        function = _function(spec, isa, is_integer=layer.is_integer)
    packed = spec.packed(*layer.constants)
    matrix, whole = (spec.rows, shape[-1]), (*shape[:-1], spec.units)
    data = operands[0] if shape == matrix else builder.emit(R.reshape(operands[0], matrix))
    if spec.depth > shape[-1]:
        zeros = relax.const(np.zeros((spec.rows, spec.depth - shape[-1]), np.float32))
        data = builder.emit(R.concat([data, zeros], 1))
    given = [data, *(as_const(array) for array in packed)]
    size = spec.rows, spec.units
    result = call_tir(builder, "blockwise_dense", function, given, size, "float32")
    return result if shape == matrix else builder.emit(R.reshape(result, whole))


def _function(spec: Blockwise, isa: VectorIsa, *, is_integer: bool) -> tirx.PrimFunc:
    if is_integer:
        return integer_rows(isa, spec)
    return few_rows(isa, spec) if spec.rows <= MOST_ROWS else many_rows(isa, spec)


RULES: tuple[tuple[Operator[Any], VectorRule], ...] = ((blockwise_dense, _multiply),)

ROWS: tuple[Row, ...] = (
    (blockwise_dense, AMX.features, partial(_multiply, isa=AVX512_VNNI, has_tiles=True)),
)
