"""RoiAlign and DeformConv: pixels between pixels, at positions that the run computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.convolutions import Window, window_of
from frontends.onnx.converters.registry import Call, converter
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

Emit = Callable[[relax.Expr], relax.Expr]
Ends = Sequence[tuple[relax.Expr, relax.Expr]]
"""The pixels before and behind places along an axis, int64, and the shares of each, float32."""


def as_rows(emit: Emit, data: relax.Expr) -> relax.Expr:
    """Return the pixels of ``[batch, channels, height, width]``, each a row of its channels."""
    batch, channels, height, width = spec_of(data).shape
    moved = emit(R.permute_dims(data, [0, 2, 3, 1]))
    return emit(R.reshape(moved, (batch * height * width, channels)))


def ends_of(emit: Emit, at: relax.Expr, low: relax.Expr, size: int) -> Ends:
    """Return the pixels around places of an axis of ``size``; ``low`` is the floor of ``at``."""
    above = emit(R.subtract(at, low))
    first = emit(R.astype(low, "int64"))
    second = emit(R.minimum(emit(R.add(first, number(1, "int64"))), number(size - 1, "int64")))
    return [(first, emit(R.subtract(number(1.0), above))), (second, above)]


def products_at(
    emit: Emit, rows: relax.Expr, start: relax.Expr, width: int, down: Ends, across: Ends
) -> list[relax.Expr]:
    """Return what each of the four pixels around places gives, with the channels last.

    Args:
        emit: of the builder.
        rows: of ``as_rows``.
        start: the number of the first pixel of each place's image, int64.
        width: of an image.
        down: along the height; shapes broadcast.
        across: along the width.
    """
    found = []
    for line, share in down:
        begin = emit(R.add(emit(R.multiply(line, number(width, "int64"))), start))
        for column, part in across:
            place = emit(R.add(begin, column))
            shape = spec_of(place).shape
            flat = emit(R.reshape(place, (int(np.prod(shape)),)))
            pixels = emit(R.take(rows, flat, 0, mode="clip"))
            pixels = emit(R.reshape(pixels, (*shape, spec_of(rows).shape[1])))
            weight = emit(R.expand_dims(emit(R.multiply(share, part)), [len(shape)]))
            found.append(emit(rounded(emit(R.multiply(weight, pixels)))))
    return found


def total(emit: Emit, parts: Sequence[relax.Expr]) -> relax.Expr:
    """Add up from the first to the last."""
    result, *others = parts
    for each in others:
        result = emit(R.add(result, each))
    return result


def number(value: float, dtype: str = "float32") -> relax.Expr:
    """Return a constant of one number."""
    return relax.const(np.asarray(value, dtype), dtype)


_OF_HALF_PIXELS = 16
"""The operators in which half a pixel is taken off by default."""


@converter("RoiAlign")
def _roi_align(call: Call) -> relax.Expr:
    """Average regions of images in a grid, between pixels; or take the largest part of a sum.

    ONNX Runtime's largest one is that of the four products of each place, not of their sums.
    """
    data, regions, images = call.operands(3)
    emit, shape = call.emit, spec_of(data).shape
    count, heights, widths = (
        int(call.attributes.get(name, default))
        for name, default in (("sampling_ratio", 0), ("output_height", 1), ("output_width", 1))
    )
    mode = call.attributes.get("mode", b"avg").decode()
    is_later = call.attributes["tvm_custom"]["opset"] >= _OF_HALF_PIXELS
    default = b"half_pixel" if is_later else b"output_half_pixel"
    places = call.attributes.get("coordinate_transformation_mode", default)
    is_half = places == b"half_pixel"
    if spec_of(data).dtype != "float32" or len(shape) != 4 or min(heights, widths) < 1:
        raise UnsupportedError(f"{spec_of(data).dtype} of shape {shape}")
    if mode not in ("avg", "max") or (mode == "max" and count < 1):
        raise UnsupportedError(f"mode {mode!r}, {count} samples")
    scale = number(call.attributes.get("spatial_scale", 1.0))
    scaled = emit(rounded(emit(R.multiply(regions, scale))))
    scaled = emit(R.subtract(scaled, number(0.5 if is_half else 0.0)))
    if count < 1:  # as many as the region is larger than its result
        first = R.astype(emit(R.expand_dims(images, [1])), "float32")
        return R.vision.roi_align(
            data,
            emit(R.concat([emit(first), scaled], 1)),
            pooled_size=(heights, widths),
            spatial_scale=1.0,
            sample_ratio=0,
            aligned=is_half,
            layout="NCHW",
            mode="avg",
        )
    regions_shape = (spec_of(regions).shape[0], 1, 1, 1, 1)
    left, top, right, bottom = (
        emit(R.reshape(emit(R.strided_slice(scaled, [1], [n], [n + 1])), regions_shape))
        for n in range(4)
    )
    down = _bin_ends(emit, top, bottom, (1, heights, 1, count, 1), shape[2], is_half)
    across = _bin_ends(emit, left, right, (1, 1, widths, 1, count), shape[3], is_half)
    size = number(shape[2] * shape[3], "int64")
    start = emit(R.reshape(emit(R.multiply(emit(R.astype(images, "int64")), size)), regions_shape))
    parts = products_at(emit, as_rows(emit, data), start, shape[3], down, across)
    if mode == "max":
        found = R.max(reduce(lambda one, other: emit(R.maximum(one, other)), parts), [3, 4])
    else:
        sums = R.sum(total(emit, parts), [3, 4])
        found = R.divide(emit(sums), number(count * count))
    return R.permute_dims(emit(found), [0, 3, 1, 2])


def _bin_ends(
    emit: Emit,
    begin: relax.Expr,
    end: relax.Expr,
    counts: tuple[int, ...],
    size: int,
    is_half: bool,
) -> Ends:
    """Return the pixels around the places of an axis: of cells, and of samples in each.

    A place that is more than one pixel outside has the share 0.
    """
    bins, samples = (
        np.arange(np.prod(counts[axes])).reshape(
            [each if n in wanted else 1 for n, each in enumerate(counts)]
        )
        for axes, wanted in ((slice(1, 3), (1, 2)), (slice(3, 5), (3, 4)))
    )
    extent = emit(R.subtract(end, begin))
    if not is_half:
        extent = emit(R.maximum(extent, number(1.0)))
    step = emit(R.divide(extent, number(bins.size)))
    cell = emit(rounded(emit(R.multiply(relax.const(bins.astype(np.float32)), step))))
    inner = emit(R.multiply(relax.const(samples.astype(np.float32) + np.float32(0.5)), step))
    inner = emit(R.divide(inner, number(samples.size)))
    at = emit(R.add(emit(R.add(begin, cell)), inner))
    is_inside = emit(
        R.logical_and(R.greater_equal(at, number(-1.0)), R.less_equal(at, number(size)))
    )
    bounded = emit(R.minimum(emit(R.maximum(at, number(0.0))), number(size - 1)))
    pairs = ends_of(emit, bounded, emit(R.floor(bounded)), size)
    return [(place, emit(R.where(is_inside, share, number(0.0)))) for place, share in pairs]


@converter("DeformConv")
def _deform_conv(call: Call) -> relax.Expr:
    """Multiply weights with what lies at moved places, between four pixels, times a mask.

    Columns of all taps are made first, in the order of weights, and then multiplied.
    """
    data, weights, offset, bias, mask = call.operands(5)
    emit, shape, kernel = call.emit, spec_of(data).shape, spec_of(weights).shape[2:]
    groups, parts = (int(call.attributes.get(name, 1)) for name in ("group", "offset_group"))
    if len(shape) != 4 or len(kernel) != 2 or spec_of(data).dtype != "float32":
        raise UnsupportedError(f"{spec_of(data).dtype} of shape {shape}")
    batch, depth, height, width = shape
    window = window_of(call.attributes, shape[2:], kernel)
    taps, lines, columns = kernel[0] * kernel[1], *spec_of(offset).shape[2:]
    filters, inner = spec_of(weights).shape[:2]
    fits = min(groups, parts) > 0 and depth % parts == 0 and filters % groups == 0
    if not fits or spec_of(offset).shape[1] != parts * taps * 2 or inner * groups != depth:
        raise UnsupportedError(f"weights of {spec_of(weights).shape} for data of {shape}")
    offsets = emit(R.reshape(offset, (batch, parts, taps, 2, lines, columns)))
    starts = np.arange(batch * parts).reshape(batch, parts, 1, 1, 1) * height * width
    images = emit(R.reshape(data, (batch * parts, depth // parts, height, width)))
    ends = [_window_ends(emit, offsets, axis, window, kernel, shape[2 + axis]) for axis in (0, 1)]
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


def _window_ends(
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
