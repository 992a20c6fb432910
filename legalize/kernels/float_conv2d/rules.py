"""Rules for convolutions of float32: the kernel serves all non-empty ones with channels last.

It computes tiles whose sums stay in registers and keep a given order:

    for each block of units, and row of pixels      in parallel, if there is work for several
      for each tile of pixels
        for each row and column of the window inside the image, and each input channel
          sums += data · weights, both rounded
        output = the clamp of sums + bias + addend

In ONNX Runtime's orders a sum is added part by part. If a part is not all taps of some channels, a
table holds the offsets of its data. Lanes are units, so a sum is one lane, and vectors change no
order. In a depthwise convolution the lanes of the data are the same channels. The last tile of a
row overlaps the one before.
"""

from collections.abc import Sequence
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R

from legalize.kernels.call import call_tir
from legalize.kernels.float_conv2d.dense import Dense, InParts
from legalize.kernels.float_conv2d.depthwise import Depthwise, InRuns
from legalize.kernels.float_conv2d.spec import Axis, FloatConv
from legalize.kernels.float_conv2d.tiling import has_streams, kernel_shape, sections, tile_of
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Slice, VectorRule
from legalize.written import new_function
from qnn_ops import float_conv2d
from qnn_ops.dialect.expressions import emitted
from qnn_ops.dialect.layouts import permutation, reorder
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of, constant_of, spec_of
from qnn_ops.dialect.windows import counts_of
from qnn_ops.unquantized.float_conv2d import ORDERS, Parts, bounds_of, parts_of

Array = np.ndarray[Any, Any]

_MOST_TAPS = 128
"""The most taps of one channel in ONNX Runtime's order: one part, or few enough to unroll."""


_KINDS = {
    (False, False): Dense,
    (False, True): InParts,
    (True, False): Depthwise,
    (True, True): InRuns,
}
"""The keys tell whether a convolution is depthwise, and whether it has ONNX Runtime's order."""


@cache
def float_conv(
    isa: VectorIsa, spec: FloatConv, data: tuple[int, ...] = (), output: tuple[int, ...] = ()
) -> tirx.PrimFunc:
    """Build the function of a convolution.

    Args:
        isa: the instruction set.
        spec: the convolution.
        data: the shape of the data in memory, if it differs from the image's.
        output: the shape of the result in memory, if it differs.

    Returns:
        A function of the data, the packed kernel, perhaps the bias, the addend and
        the table of offsets, and the output.
    """
    with new_function("float_conv2d") as builder:
        kind = _KINDS[spec.is_depthwise, spec.parts is not None]
        kind(isa, spec.in_long_rows(), data or spec.data_shape, output or spec.shape).write()
    return builder.get()


def _convolve(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    part: Slice | None = None,
    into: relax.Expr | None = None,
    *,
    isa: VectorIsa,
) -> relax.Expr | None:
    data, kernel, *others = operands
    shape = spec_of(data).shape
    sizes = reorder(spec_of(kernel).shape, attrs.kernel_layout, "OHWI")
    if {attrs.data_layout, attrs.out_layout} != {"NHWC"} or 0 in (*shape, *sizes):
        return None
    units, *window, inputs = sizes
    parts = None
    if attrs.order != ORDERS[0]:
        pixels = prod(counts_of(attrs, shape[1:3], window))
        parts = parts_of(attrs, window, inputs, units, pixels)
        if not isa.fuses_products or (inputs == 1 and prod(window) > _MOST_TAPS):
            return None
        if any(attrs.padding) and attrs.order == ORDERS[1]:
            top, left, bottom, right = attrs.padding
            widths = [0, 0, top, bottom, left, right, 0, 0]
            data, attrs.padding = builder.emit(R.nn.pad(data, widths)), (0, 0, 0, 0)
            shape = spec_of(data).shape
    if inputs == 1 < attrs.groups < units:  # each channel makes several units, which are neighbours
        data = builder.emit(R.repeat(data, units // attrs.groups, 3))
        attrs.groups, shape = units, (*shape[:3], units)
    rows, columns = (
        Axis(
            shape[1 + axis],
            count,
            window[axis],
            attrs.strides[axis],
            attrs.dilation[axis],
            attrs.padding[axis],
        )
        for axis, count in enumerate(counts_of(attrs, shape[1:3], window))
    )
    low, high = bounds_of(attrs)
    how = (len(others) > 0, len(others) > 1, low, high, parts, part)
    spec = FloatConv(shape[0], rows, columns, shape[3], units, attrs.groups, *how)
    given = [_packed(builder, isa, spec, kernel, attrs.kernel_layout), *others]
    if spec.has_places:
        given.append(relax.const(_places(spec)))
    function, given = float_conv(isa, spec), [data, *given]
    return call_tir(builder, "float_conv2d", function, given, spec.shape, "float32", into)


def _part(
    builder: relax.BlockBuilder,
    call: relax.Call,
    part: Slice,
    into: relax.Expr | None,
    *,
    isa: VectorIsa,
) -> relax.Expr | None:
    return _convolve(builder, attrs_of(call), list(call.args), part, into, isa=isa)


def multiply_rows(
    builder: relax.BlockBuilder, isa: VectorIsa, rows: relax.Expr, matrix: Array
) -> relax.Expr:
    """Multiply rows, [..., depth], by a constant matrix [depth, units], in one chain of sums."""
    *outer, depth = spec_of(rows).shape
    count, units = prod(outer), matrix.shape[1]
    axes = Axis(1, 1, 1), Axis(count, count, 1)
    spec = FloatConv(1, *axes, depth, units, parts=Parts(1, depth))
    weights = relax.const(matrix.reshape(1, 1, depth, units))
    packed, shape = _packed(builder, isa, spec, weights, "HWIO"), (*outer, units)
    function = float_conv(isa, spec, (*outer, depth), shape)
    return call_tir(builder, "float_rows", function, [rows, packed], shape, "float32")


def _order(spec: FloatConv) -> Array:
    """Return the order of a sum's products: indices into [rows, columns, input channels]."""
    _, channel = np.divmod(np.arange(spec.depth), spec.inputs)
    block = 0 if spec.parts is None else channel // spec.parts.block
    return np.argsort(np.broadcast_to(block, spec.depth), kind="stable")


def _places(spec: FloatConv) -> Array:
    """Return the offsets of a sum's data from its first tap."""
    shape = (spec.rows.window, spec.columns.window, spec.inputs)
    row, column, channel = np.unravel_index(_order(spec), shape)
    pixel = row * spec.rows.dilation * spec.columns.size + column * spec.columns.dilation
    return (pixel * spec.channels + channel).astype(np.int32)


def _packed(
    builder: relax.BlockBuilder, isa: VectorIsa, spec: FloatConv, kernel: relax.Expr, layout: str
) -> relax.Expr:
    how, array = (isa, spec, permutation(layout, "HWIO")), constant_of(kernel)
    if array is not None:
        return relax.const(np.ascontiguousarray(_arranged(array, *how)))
    return emitted(builder, _arranged, kernel, *how)


def _arranged(kernel: Any, isa: VectorIsa, spec: FloatConv, order: Sequence[int]) -> Any:
    """Lay out a kernel: [groups, blocks of vectors of units], or [taps, channels].

    A block is [taps and channels, vectors, lanes].

    Args:
        kernel: an array, or an expression with numpy's interface.
        isa: the instruction set.
        spec: the convolution.
        order: the axes that are rows, columns, input channels and units.
    """
    kernel = np.transpose(kernel, order)
    if spec.is_depthwise:
        return kernel.reshape(*kernel_shape(isa, spec))
    groups, per_group, lanes = spec.groups, spec.units // spec.groups, isa.lanes
    columns = kernel.reshape(spec.depth, groups, per_group)
    if spec.has_places or spec.has_blocks:
        columns = np.take(columns, _order(spec), 0)
    if more := -per_group % lanes:
        columns = np.pad(columns, ((0, 0), (0, 0), (0, more)))
    columns = columns.reshape(spec.depth, groups, -(-per_group // lanes), lanes)
    most, parts = 1 if has_streams(spec) else tile_of(isa, spec)[0], []
    for first, blocks, size, _ in sections(per_group, lanes, most):
        part = columns[:, :, first : first + blocks * size]
        part = part.reshape(spec.depth, groups, blocks, size, lanes)
        part = np.transpose(part, (1, 2, 0, 3, 4))
        parts.append(part.reshape(groups, blocks * size * spec.depth * lanes))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, 1)


RULES: tuple[tuple[Operator[Any], VectorRule], ...] = ((float_conv2d, _convolve),)


def parts_for(isa: VectorIsa) -> tuple[Operator[Any], tuple[str, ...], Any]:
    """Return the row of ``table.PARTS`` for an instruction set."""
    return float_conv2d, isa.features, partial(_part, isa=isa)
