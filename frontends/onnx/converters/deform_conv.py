"""DeformConv."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.bilinear import (
    Emit,
    Ends,
    as_rows,
    ends_of,
    number,
    products_at,
    total,
)
from frontends.onnx.converters.registry import Operands, converter, operands_of
from frontends.onnx.converters.windows import Window, window_of
from qnn_ops.registry import spec_of


@converter("DeformConv")
def _deform_conv(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Multiply weights with what lies at moved places, between four pixels, times a mask.

    Columns of all taps are made first, in the order of weights, and then multiplied.
    """
    data, weights, offset, bias, mask = operands_of(operands, 5)
    emit, shape, kernel = builder.emit, spec_of(data).shape, spec_of(weights).shape[2:]
    groups, parts = (int(attributes.get(name, 1)) for name in ("group", "offset_group"))
    if len(shape) != 4 or len(kernel) != 2 or spec_of(data).dtype != "float32":
        raise UnsupportedError(f"{spec_of(data).dtype} of shape {shape}")
    batch, depth, height, width = shape
    window = window_of(attributes, shape[2:], kernel)
    taps, lines, columns = kernel[0] * kernel[1], *spec_of(offset).shape[2:]
    filters, inner = spec_of(weights).shape[:2]
    fits = min(groups, parts) > 0 and depth % parts == 0 and filters % groups == 0
    if not fits or spec_of(offset).shape[1] != parts * taps * 2 or inner * groups != depth:
        raise UnsupportedError(f"weights of {spec_of(weights).shape} for data of {shape}")
    offsets = emit(R.reshape(offset, (batch, parts, taps, 2, lines, columns)))
    starts = np.arange(batch * parts).reshape(batch, parts, 1, 1, 1) * height * width
    images = emit(R.reshape(data, (batch * parts, depth // parts, height, width)))
    ends = [_ends(emit, offsets, axis, window, kernel, shape[2 + axis]) for axis in (0, 1)]
    start = relax.const(starts, "int64")
    found = total(emit, products_at(emit, as_rows(emit, images), start, width, *ends))
    if mask is not None:
        own = emit(R.reshape(mask, (batch, parts, taps, lines, columns, 1)))
        found = emit(R.multiply(found, own))
    rows = emit(R.permute_dims(found, [0, 3, 4, 1, 5, 2]))
    rows = emit(R.reshape(rows, (batch * lines * columns, groups, inner * taps)))
    matrix = emit(R.reshape(weights, (groups, filters // groups, inner * taps)))
    products = [
        R.matmul(_part(emit, rows, 1, n), emit(R.permute_dims(_part(emit, matrix, 0, n))))
        for n in range(groups)
    ]
    result = (
        emit(R.concat([emit(each) for each in products], 1)) if groups > 1 else emit(products[0])
    )
    if bias is not None:
        result = emit(R.add(result, bias))
    return R.permute_dims(emit(R.reshape(result, (batch, lines, columns, filters))), [0, 3, 1, 2])


def _part(emit: Emit, matrices: relax.Expr, axis: int, place: int) -> relax.Expr:
    return emit(R.squeeze(emit(R.strided_slice(matrices, [axis], [place], [place + 1])), [axis]))


def _ends(
    emit: Emit, offsets: relax.Expr, axis: int, window: Window, kernel: tuple[int, ...], size: int
) -> Ends:
    """Return the pixels around moved places of an axis; what lies outside has the share 0."""
    _batch, _, taps, _, *image = spec_of(offsets).shape
    own = emit(R.squeeze(emit(R.strided_slice(offsets, [3], [axis], [axis + 1])), [3]))
    steps = np.unravel_index(np.arange(taps), kernel)[axis] * window.dilations[axis]
    places = np.arange(image[axis]) * window.strides[axis] - window.padding[axis]
    grid = steps.reshape(1, 1, taps, 1, 1) + places.reshape(
        1, 1, 1, *((-1, 1) if axis == 0 else (1, -1))
    )
    at = emit(R.add(own, relax.const(grid.astype(np.float32))))
    is_near = emit(R.logical_and(R.greater(at, number(-1.0)), R.less(at, number(size))))
    bounded = emit(R.where(is_near, at, number(0.0)))
    found = ends_of(emit, bounded, emit(R.floor(bounded)), size)
    zero, last, (low, share), (high, more) = number(0.0), number(size - 1, "int64"), *found
    is_low = emit(R.logical_and(is_near, R.greater_equal(low, number(0, "int64"))))
    is_high = emit(R.logical_and(is_near, R.less(low, last)))
    return [
        (emit(R.maximum(low, number(0, "int64"))), emit(R.where(is_low, share, zero))),
        (high, emit(R.where(is_high, more, zero))),
    ]
