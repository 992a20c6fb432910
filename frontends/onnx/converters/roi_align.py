"""RoiAlign."""

from __future__ import annotations

from functools import reduce
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
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

_OF_HALF_PIXELS = 16
"""The operators in which half a pixel is taken off by default."""


@converter("RoiAlign")
def _roi_align(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Average regions of images in a grid, between pixels; or take the largest part of a sum.

    ONNX Runtime's largest one is that of the four products of each place, not of their sums.
    """
    data, regions, images = operands_of(operands, 3)
    emit, shape = builder.emit, spec_of(data).shape
    count, heights, widths = (
        int(attributes.get(name, default))
        for name, default in (("sampling_ratio", 0), ("output_height", 1), ("output_width", 1))
    )
    mode = attributes.get("mode", b"avg").decode()
    default = (
        "half_pixel"
        if attributes["tvm_custom"]["opset"] >= _OF_HALF_PIXELS
        else "output_half_pixel"
    )
    is_half = attributes.get("coordinate_transformation_mode", default.encode()) == b"half_pixel"
    if spec_of(data).dtype != "float32" or len(shape) != 4 or min(heights, widths) < 1:
        raise UnsupportedError(f"{spec_of(data).dtype} of shape {shape}")
    if mode not in ("avg", "max") or (mode == "max" and count < 1):
        raise UnsupportedError(f"mode {mode!r}, {count} samples")
    scale = number(attributes.get("spatial_scale", 1.0))
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
    down = _ends(emit, top, bottom, (1, heights, 1, count, 1), shape[2], is_half)
    across = _ends(emit, left, right, (1, 1, widths, 1, count), shape[3], is_half)
    size = number(shape[2] * shape[3], "int64")
    start = emit(R.reshape(emit(R.multiply(emit(R.astype(images, "int64")), size)), regions_shape))
    parts = products_at(emit, as_rows(emit, data), start, shape[3], down, across)
    if mode == "max":
        found = R.max(reduce(lambda one, other: emit(R.maximum(one, other)), parts), [3, 4])
    else:
        sums = R.sum(total(emit, parts), [3, 4])
        found = R.divide(emit(sums), number(count * count))
    return R.permute_dims(emit(found), [0, 3, 1, 2])


def _ends(
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
