"""Two-dimensional pooling of quantized tensors."""

import math
from typing import Annotated, Any

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import bounds, dtype_range
from qnn_ops.dialect.checks import check_bounds
from qnn_ops.dialect.layouts import permutation, reorder
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import OFFSETS, Channels, Traits, always, shifted
from qnn_ops.dialect.windows import window_count, windows_of
from qnn_ops.errors import QnnError

POOL_TYPES = ("max", "avg")
ROUNDINGS = ("half_away", "half_even")

# The sum of this many values and half a divisor fits int32.
_MOST_TAPS = {"int8": 2**23, "uint8": 2**23, "int16": 2**15}


def _moved(attrs: Attrs, dtype: str) -> dict[str, Any]:
    """Move the attributes that change with the data. An average's ties keep their direction."""
    changes = shifted(attrs, dtype, "out_min", "out_max")
    if attrs.pool_type == "avg":
        changes["origin"] = attrs.origin + OFFSETS[dtype]
    return changes


@operator(
    traits=Traits(
        zero_points={}, moved=_moved, keeps=always, clamps=True, channels=Channels.LAYOUT
    ),
    overflows=False,
)
def quantized_pool2d(
    quantized_data: declared.Images,
    pool_type: Annotated[str, declared.choice(*POOL_TYPES)],
    pool_size: declared.Size,
    strides: declared.Strides = (1, 1),
    padding: declared.Padding = (0, 0),
    layout: declared.Layout = "NCHW",
    out_min: declared.OptionalInt = None,
    out_max: declared.OptionalInt = None,
    origin: declared.ImpliedInt = 0,
    rounding: Annotated[str, declared.choice(*ROUNDINGS, implied=True)] = "half_away",
    count_include_pad: declared.ImpliedFlag = False,
) -> None:
    """Take the maximum or the average of each window of an image.

    The result has the data's scale and zero point. Padded positions are never the maximum. An
    average divides by the number of its window's taps that lie on the image. With
    ``count_include_pad`` padded positions count, too, with the value ``origin``.

    Source of the arithmetic: TFLite's reference MAX_POOL_2D and AVERAGE_POOL_2D. An average is a /
    n rounded half away from zero, where a is the sum of n raw values. The zero point is not
    subtracted first, which decides how ties round. ``origin`` is for raw values that were moved: if
    int8 became uint8 by adding 128, ties round away from 128. Rounding "half_even" is that of
    MXNet's quantized pooling (oneDNN): a / n is a float32 quotient rounded half to even.

    Args:
        quantized_data: int8, uint8 or int16, [N, H, W, C] or [N, C, H, W].
        pool_type: "max" or "avg".
        pool_size: the window in pixels: one value or (height, width).
        out_min: lowest value of the result (a fused activation); default: the dtype's.
        out_max: highest value of the result; default: the dtype's.
        origin: the value from which an average's ties round away, or relative to which they round
            to even.
        rounding: how averages round: "half_away" or "half_even".
        count_include_pad: whether an average divides by the size of its window.

    Returns:
        A call whose result has the data's dtype and layout.

    Raises:
        QnnError: if a shape, dtype, layout or bound does not fit, or a window covers nothing
            but padding (raised when the call's type is inferred).
    """


@quantized_pool2d.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_bounds(data.dtype, *bounds(attrs, data.dtype))
    low, high = dtype_range(data.dtype)
    if not low <= attrs.origin <= high:
        raise QnnError(f"origin must lie within {data.dtype}, got {attrs.origin}")
    most = _MOST_TAPS[data.dtype]
    if math.prod(attrs.pool_size) > most:
        raise QnnError(f"pool_size must have at most {most} taps, got {attrs.pool_size}")
    batch, height, width, channels = reorder(data.shape, attrs.layout, "NHWC")
    taps = valid_taps(attrs, (height, width))
    return TensorSpec(reorder((batch, *taps.shape, channels), "NHWC", attrs.layout), data.dtype)


def window_counts(attrs: Attrs, image: tuple[int, int]) -> Array:
    """Return the divisor of each window's sum: int64 [output height, output width]."""
    taps = valid_taps(attrs, image)
    if attrs.count_include_pad:
        return np.full_like(taps, math.prod(attrs.pool_size))
    return taps


def valid_taps(attrs: Attrs, image: tuple[int, int]) -> Array:
    """Count the taps of each window that lie on the image, not on padding.

    Args:
        attrs: the call's attributes.
        image: height and width in pixels.

    Returns:
        int64 [output height, output width], all at least 1.

    Raises:
        QnnError: if no window fits, or one covers nothing but padding.
    """
    rows, columns = (
        _taps_along(name, *sizes)
        for name, *sizes in zip(
            ("height", "width"),
            image,
            attrs.pool_size,
            attrs.strides,
            attrs.padding[:2],
            attrs.padding[2:],
            strict=True,
        )
    )
    return rows[:, None] * columns[None, :]


def _taps_along(name: str, size: int, window: int, stride: int, before: int, after: int) -> Array:
    count = window_count(name, size, window, stride, 1, before, after)
    first = np.arange(count, dtype=np.int64) * stride - before
    taps = np.minimum(first + window, size) - np.maximum(first, 0)
    if (taps < 1).any():
        raise QnnError(
            f"a window of {window} covers nothing but padding along the {name}: padding is "
            f"{before} and {after}"
        )
    return taps


@quantized_pool2d.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    image = data.transpose(permutation(attrs.layout, "NHWC")).astype(np.int64)
    if attrs.pool_type == "max":
        lowest = int(np.iinfo(data.dtype).min)
        pooled = windows_of(attrs, image, attrs.pool_size, lowest).max(axis=(-2, -1))
    else:
        origin = attrs.origin
        sums = windows_of(attrs, image - origin, attrs.pool_size).sum(axis=(-2, -1))
        counts = window_counts(attrs, image.shape[1:3])[:, :, None]
        if attrs.rounding == "half_even":
            quotients = np.rint(sums.astype(np.float32) / counts.astype(np.float32))
            pooled = quotients.astype(np.int64) + origin
        else:
            pooled = np.sign(sums) * ((np.abs(sums) + counts // 2) // counts) + origin
    result = np.clip(pooled, *bounds(attrs, str(data.dtype))).astype(data.dtype)
    return np.ascontiguousarray(result.transpose(permutation("NHWC", attrs.layout)))
