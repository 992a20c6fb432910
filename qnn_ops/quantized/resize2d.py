"""Resizes quantized images: the source pixels and weights of each pixel, and the operator.

Source: the reference RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR of TFLite, whose positions are
float32 or, for bilinear int8, fixed point with 10 fraction bits. Positions copy that arithmetic
exactly, with its roundings: no other arithmetic picks the same pixels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np

from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import per_axis
from qnn_ops.dialect.layouts import reorder
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import Channels, Traits, moving
from qnn_ops.errors import QnnError

T = TypeVar("T")

FRACTION_BITS = 10
"""The fraction bits of fixed-point positions and weights."""


@dataclass(frozen=True, eq=False)
class Taps:
    """Two source pixels of each output pixel along one axis, and its distance from the first.

    Attributes:
        lower: int64 [output size], the first pixel.
        upper: int64 [output size], the second pixel.
        distance: [output size], from the first pixel towards the second: float32, or fixed point
            with FRACTION_BITS in int64. It may lie outside [0, 1] if both pixels are the same.
    """

    lower: Array
    upper: Array
    distance: Array


def nearest_pixels(
    size: int, out_size: int, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Find the source pixel nearest to each output pixel: int64 [out_size], in 0..size - 1."""
    scale = _float32_scale(size, out_size, align_corners)
    offset = np.float32(0.5 if half_pixel_centers else 0.0)
    position = (np.arange(out_size, dtype=np.float32) + offset) * scale
    pixels = round_half_away(position) if align_corners else np.floor(position)
    return np.clip(pixels.astype(np.int64), 0, size - 1)


def float32_taps(
    size: int, out_size: int, *, align_corners: bool, half_pixel_centers: bool
) -> Taps:
    """Return the taps of a bilinear interpolation in float32, which TFLite uses for uint8."""
    scale = _float32_scale(size, out_size, align_corners)
    position: Array = np.arange(out_size, dtype=np.float32)
    half = np.float32(0.5)
    position = (position + half) * scale - half if half_pixel_centers else position * scale
    lower = np.clip(np.floor(position).astype(np.int64), 0, size - 1)
    upper = np.minimum(np.ceil(position).astype(np.int64), size - 1)
    return Taps(lower, upper, position - lower.astype(np.float32))


def fixed_point_taps(
    size: int, out_size: int, *, align_corners: bool, half_pixel_centers: bool
) -> Taps:
    """Return the taps of a bilinear interpolation in fixed point, which TFLite uses for int8.

    If an output is so large that the rounding of its scale leads beyond the last pixel, TFLite
    reads the memory behind the image. These taps stay on the last pixel.
    """
    one = 1 << FRACTION_BITS
    last, out_last = (
        (size - 1, out_size - 1) if align_corners and out_size > 1 else (size, out_size)
    )
    scale = (one * last + out_last // 2) // out_last
    position = np.arange(out_size, dtype=np.int64) * scale
    if half_pixel_centers:
        position = position + scale // 2 - one // 2
    # C's division truncates: a negative position is above -1 and goes to pixel 0.
    lower = np.clip(position // one, 0, size - 1)
    upper = np.clip((position + one - 1) // one, 0, size - 1)
    return Taps(lower, upper, position - one * lower)


def _float32_scale(size: int, out_size: int, align_corners: bool) -> np.float32:
    if align_corners and out_size > 1:
        return np.float32(size - 1) / np.float32(out_size - 1)
    return np.float32(size) / np.float32(out_size)


METHODS = ("bilinear", "nearest_neighbor")


@operator(
    traits=Traits(
        zero_points={},
        moved=moving(),
        keeps=lambda attrs: attrs.method == "nearest_neighbor",
        clamps=False,
        channels=Channels.LAYOUT,
    ),
    overflows=False,
)
def quantized_resize2d(
    quantized_data: declared.Images,
    size: declared.Size,
    method: Annotated[str, declared.choice(*METHODS)],
    align_corners: declared.Flag = False,
    half_pixel_centers: declared.Flag = False,
    layout: declared.Layout = "NHWC",
) -> None:
    """Resize quantized images.

    The result has the data's scale and zero point.

    Source of the arithmetic: TFLite's reference RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
    Bilinear interpolation is done in float32 for uint8, the sum of four products truncated after
    adding 0.5, and in integers for int8 and int16, with weights of 10 fraction bits and half
    rounded away from zero. There is one difference. If an int8 or int16 image grows so much that
    the 10 bits lead beyond the last pixel (8 to 224 pixels, say), TFLite reads other memory; here
    the last pixel is repeated.

    Args:
        quantized_data: int8, uint8 or int16, [N, H, W, C] or [N, C, H, W].
        size: the result's height and width in pixels.
        method: "bilinear" or "nearest_neighbor".
        align_corners: whether the corner pixels keep their centres.
        half_pixel_centers: whether a pixel's centre lies half a pixel from its edge; bilinear
            interpolation takes only one of the two.

    Returns:
        A call whose result has the data's dtype and layout.
    """


@quantized_resize2d.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    batch, height, width, channels = reorder(data.shape, attrs.layout, "NHWC")
    if min(height, width, *attrs.size) < 1:
        raise QnnError(
            f"images must have at least one pixel, got {height} by {width} to be resized to "
            f"{attrs.size[0]} by {attrs.size[1]}"
        )
    if attrs.method == "bilinear" and attrs.align_corners and attrs.half_pixel_centers:
        raise QnnError("bilinear takes only one of align_corners and half_pixel_centers, got both")
    shape = reorder((batch, *attrs.size, channels), "NHWC", attrs.layout)
    return TensorSpec(shape, data.dtype)


def pixels_of(attrs: Attrs, image: tuple[int, int]) -> tuple[Array, Array]:
    """Find source rows and columns of a nearest-neighbour resize of (height, width)."""
    return _along_axes(nearest_pixels, attrs, image)


def taps_of(attrs: Attrs, image: tuple[int, int], dtype: str) -> tuple[Taps, Taps]:
    """Find vertical and horizontal taps of a bilinear resize of an ``image`` (height, width)."""
    return _along_axes(float32_taps if dtype == "uint8" else fixed_point_taps, attrs, image)


def _along_axes(find: Callable[..., T], attrs: Attrs, image: tuple[int, int]) -> tuple[T, T]:
    corners, centers = attrs.align_corners, attrs.half_pixel_centers
    rows, columns = (
        find(size, out_size, align_corners=corners, half_pixel_centers=centers)
        for size, out_size in zip(image, attrs.size, strict=True)
    )
    return rows, columns


@quantized_resize2d.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    _, height, width, _ = reorder(data.shape, attrs.layout, "NHWC")
    vertical, horizontal = attrs.layout.index("H"), attrs.layout.index("W")
    if attrs.method == "nearest_neighbor":
        rows, columns = pixels_of(attrs, (height, width))
        return np.take(np.take(data, rows, axis=vertical), columns, axis=horizontal)
    down, right = taps_of(attrs, (height, width), str(data.dtype))
    interpolate = _in_float32 if data.dtype == np.uint8 else _in_integers
    return interpolate(data, (down, vertical), (right, horizontal)).astype(data.dtype)


def _in_float32(data: Array, down: tuple[Taps, int], right: tuple[Taps, int]) -> Array:
    (vertical, row_axis), (horizontal, column_axis) = down, right
    one = np.float32(1)

    def weighted(image: Array, pixels: Array, weight: Array, axis: int) -> Array:
        return np.take(image, pixels, axis=axis) * per_axis(weight, axis, 4)

    def term(image: Array, pixels: Array, weight: Array) -> Array:
        # A product must be rounded before it is added. LLVM would fuse the two where the processor
        # can; a bound that no product reaches (255 times 1.5 times 1.5 at most) keeps them apart.
        return np.maximum(weighted(image, pixels, weight, column_axis), np.float32(-1024))

    values = data.astype(np.float32)
    upper = weighted(values, vertical.lower, one - vertical.distance, row_axis)
    lower = weighted(values, vertical.upper, vertical.distance, row_axis)
    # This is the order of the reference kernel: upper left, lower left, upper right, lower right.
    total = term(upper, horizontal.lower, one - horizontal.distance)
    total = total + term(lower, horizontal.lower, one - horizontal.distance)
    total = total + term(upper, horizontal.upper, horizontal.distance)
    total = total + term(lower, horizontal.upper, horizontal.distance)
    return (total + np.float32(0.5)).astype(np.int32)


def _in_integers(data: Array, down: tuple[Taps, int], right: tuple[Taps, int]) -> Array:
    # The sums of 8 bits by two weights of 10 fraction bits fit int32; sums of 16 bits do not.
    dtype, sign = (np.int64, 63) if data.dtype == np.int16 else (np.int32, 31)
    one = 1 << FRACTION_BITS

    def between(image: Array, taps: Taps, axis: int) -> Array:
        near, far = (
            per_axis(weight, axis, 4).astype(dtype)
            for weight in (one - taps.distance, taps.distance)
        )
        return (
            np.take(image, taps.lower, axis=axis) * near
            + np.take(image, taps.upper, axis=axis) * far
        )

    total = between(between(data.astype(dtype), *down), *right)
    # Half away from zero: a negative value rounds down at a tie.
    half = one * one // 2 + (total >> sign)
    return (total + half) >> (2 * FRACTION_BITS)
