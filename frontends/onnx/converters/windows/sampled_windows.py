"""RoiAlign and DeformConv: pixels between pixels, at positions that the run computes."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, formula
from frontends.onnx.converters.windows.convolutions import Window, window_of
from qnn_ops.arithmetic.rounded import rounded

Ends = Sequence[tuple[Any, Any]]
"""The pixels before and behind positions along an axis, int64, and the shares of each, float32."""


def _as_rows(data: Any) -> Any:
    """Return the pixels of ``[batch, channels, height, width]`` as rows of channels."""
    batch, channels, height, width = data.shape
    return np.transpose(data, [0, 2, 3, 1]).reshape(batch * height * width, channels)


def _ends_of(at: Any, low: Any, size: int) -> Ends:
    """Return the pixels around positions of an axis of ``size``; ``low`` is the floor of ``at``."""
    above, first = at - low, low.astype(np.int64)
    second = np.minimum(first + 1, size - 1)
    return [(first, 1 - above), (second, above)]


def _products_at(rows: Any, start: Any, width: int, down: Ends, across: Ends) -> list[Any]:
    """Return the products of the four pixels around positions with their shares, channels last.

    Args:
        rows: pixels, from ``_as_rows``.
        start: the index of the first pixel of each position's image, int64.
        width: of an image.
        down: along the height; shapes broadcast.
        across: along the width.
    """
    found = []
    for line, share in down:
        begin = line * width + start
        for column, part in across:
            index = begin + column
            flat = index.reshape(int(np.prod(index.shape)))
            pixels = rows.to(R.take(rows.expr, flat.expr, 0, mode="clip"))
            pixels = pixels.reshape(*index.shape, rows.shape[1])
            weight = share * part
            found.append(rounded(np.expand_dims(weight, weight.ndim) * pixels))
    return found


_OF_HALF_PIXELS = 16
"""The first operator set in which the operator subtracts half a pixel by default."""


@formula("RoiAlign")
def _roi_align(call: Call, data: Any, regions: Any, images: Any) -> Any:
    """Average regions of images in a grid, between pixels; or return their largest product.

    ONNX Runtime's maximum is the largest of each position's four products, not of their sums.
    """
    shape = data.shape
    count, heights, widths = (
        call.integer(name, default)
        for name, default in (("sampling_ratio", 0), ("output_height", 1), ("output_width", 1))
    )
    mode = call.text("mode", "avg")
    default = "half_pixel" if call.opset >= _OF_HALF_PIXELS else "output_half_pixel"
    is_half = call.text("coordinate_transformation_mode", default) == "half_pixel"
    if data.dtype != "float32" or len(shape) != 4 or min(heights, widths) < 1:
        raise UnsupportedError(f"{data.dtype} of shape {shape}")
    if mode not in ("avg", "max") or (mode == "max" and count < 1):
        raise UnsupportedError(f"mode {mode!r}, {count} samples")
    scaled = rounded(regions * call.attributes.get("spatial_scale", 1.0))
    scaled = scaled - (0.5 if is_half else 0)
    if count < 1:  # as many samples as the region is larger than its result
        first = np.expand_dims(images, 1).astype(np.float32)
        whole: Any = np.concatenate([first, scaled], 1)
        return R.vision.roi_align(
            data.expr,
            whole.expr,
            pooled_size=(heights, widths),
            spatial_scale=1.0,
            sample_ratio=0,
            aligned=is_half,
            layout="NCHW",
            mode="avg",
        )
    regions_shape = (regions.shape[0], 1, 1, 1, 1)
    left, top, right, bottom = (scaled[:, n : n + 1].reshape(*regions_shape) for n in range(4))
    down = _bin_ends(top, bottom, (1, heights, 1, count, 1), shape[2], is_half)
    across = _bin_ends(left, right, (1, 1, widths, 1, count), shape[3], is_half)
    numbers = images.astype(np.int64)
    start = (numbers * (shape[2] * shape[3])).reshape(*regions_shape)
    parts = _products_at(_as_rows(data), start, shape[3], down, across)
    if mode == "max":
        most = reduce(np.maximum, parts)
        found = most.max([3, 4])
    else:
        found = sum(parts[1:], parts[0]).sum((3, 4), np.float32) / (count * count)
    return np.transpose(found, [0, 3, 1, 2])


def _bin_ends(begin: Any, end: Any, counts: tuple[int, ...], size: int, is_half: bool) -> Ends:
    """Return the pixels around an axis's positions: the samples of each cell.

    A position that is more than one pixel outside has the share 0.
    """
    bins, samples = (
        np.arange(np.prod(counts[axes])).reshape(
            [each if n in wanted else 1 for n, each in enumerate(counts)]
        )
        for axes, wanted in ((slice(1, 3), (1, 2)), (slice(3, 5), (3, 4)))
    )
    extent = end - begin
    if not is_half:
        extent = np.maximum(extent, 1)
    step = extent / bins.size
    cell = rounded(bins.astype(np.float32) * step)
    inner = (samples.astype(np.float32) + np.float32(0.5)) * step / samples.size
    at = begin + cell + inner
    is_inside = (at >= -1) & (at <= size)
    bounded = np.minimum(np.maximum(at, 0), size - 1)
    pairs = _ends_of(bounded, np.floor(bounded), size)
    return [(index, np.where(is_inside, share, 0)) for index, share in pairs]


@formula("DeformConv")
def _deform_conv(call: Call, data: Any, weights: Any, offset: Any, bias: Any, mask: Any) -> Any:
    """Multiply weights by the values at moved positions, between four pixels, times a mask.

    The columns of all taps are made first, in the order of the weights, and then multiplied.
    """
    shape, kernel = data.shape, weights.shape[2:]
    groups, parts = (call.integer(name, 1) for name in ("group", "offset_group"))
    if len(shape) != 4 or len(kernel) != 2 or data.dtype != "float32":
        raise UnsupportedError(f"{data.dtype} of shape {shape}")
    batch, depth, height, width = shape
    window = window_of(call, shape[2:], kernel)
    taps, (lines, columns) = kernel[0] * kernel[1], offset.shape[2:]
    filters, inner = weights.shape[:2]
    fits = min(groups, parts) > 0 and depth % parts == 0 and filters % groups == 0
    if not fits or offset.shape[1] != parts * taps * 2 or inner * groups != depth:
        raise UnsupportedError(f"weights of {weights.shape} for data of {shape}")
    offsets = offset.reshape(batch, parts, taps, 2, lines, columns)
    starts = np.arange(batch * parts).reshape(batch, parts, 1, 1, 1) * height * width
    images = data.reshape(batch * parts, depth // parts, height, width)
    ends = [_window_ends(offsets, axis, window, kernel, shape[2 + axis]) for axis in (0, 1)]
    start = data.to(relax.const(starts, "int64"))
    products = _products_at(_as_rows(images), start, width, *ends)
    found = sum(products[1:], products[0])
    if mask is not None:
        found = found * mask.reshape(batch, parts, taps, lines, columns, 1)
    rows: Any = np.transpose(found, [0, 3, 4, 1, 5, 2])
    rows = rows.reshape(batch * lines * columns, groups, inner * taps)
    matrix = weights.reshape(groups, filters // groups, inner * taps)
    sums = [_part(rows, 1, n) @ np.transpose(_part(matrix, 0, n)) for n in range(groups)]
    result: Any = np.concatenate(sums, 1) if groups > 1 else sums[0]
    if bias is not None:
        result = result + bias
    return np.transpose(result.reshape(batch, lines, columns, filters), [0, 3, 1, 2])


def _part(matrices: Any, axis: int, index: int) -> Any:
    part = matrices[(*[slice(None)] * axis, slice(index, index + 1))]
    return part.to(R.squeeze(part.expr, [axis]))


def _window_ends(
    offsets: Any, axis: int, window: Window, kernel: tuple[int, ...], size: int
) -> Ends:
    """Return the pixels around moved positions of an axis; pixels outside have the share 0."""
    _batch, _, taps, _, *image = offsets.shape
    own = _part(offsets, 3, axis)
    steps = np.unravel_index(np.arange(taps), kernel)[axis] * window.dilations[axis]
    begins = np.arange(image[axis]) * window.strides[axis] - window.padding[axis]
    along = (-1, 1) if axis == 0 else (1, -1)
    grid = steps.reshape(1, 1, taps, 1, 1) + begins.reshape(1, 1, 1, *along)
    at = own + grid.astype(np.float32)
    is_near = (at > -1) & (at < size)
    bounded = np.where(is_near, at, 0)
    (low, share), (high, more) = _ends_of(bounded, np.floor(bounded), size)
    is_low = is_near & (low >= 0)
    is_high = is_near & (low < size - 1)
    return [
        (np.maximum(low, 0), np.where(is_low, share, 0)),
        (high, np.where(is_high, more, 0)),
    ]
