"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, Operand
from frontends.tflite.operators import COMPUTED, MOVED, OPERATORS, Row, Rule
from qnn_ops import QnnError, quantized_resize2d
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.quantized.resize2d import Taps, float32_taps, nearest_pixels

_MOST_PIXELS = 1 << 24  # along an axis; LiteRT counts pixels in float32


Resize = Callable[..., Any]
"""``resize(ctx, data, size, **centres)``, of images and a result that have pixels."""


def _resized(resize: Resize) -> Rule:
    """Return the rule that reads the size and the options."""

    def convert(ctx: Context) -> Any:
        options, data, size = ctx.options, ctx.input(0, rank=4), _size(ctx)
        if 0 in (*data.shape, *size):
            return R.zeros((data.shape[0], *size, data.shape[3]), data.dtype)
        return resize(ctx, data, size, **vars(options))

    return convert


def resize_floats(ctx: Context, data: Operand, size: tuple[int, ...], **centres: bool) -> Any:
    """Interpolate between the four nearest pixels, in the order of LiteRT's sums.

    Source: ResizeBilinear of LiteRT: each pixel times its weight in y, then in x, and the four
    products are added up, column by column.
    """
    rows, columns = (float32_taps(data.shape[axis], size[axis - 1], **centres) for axis in (1, 2))
    products = []
    for column, along in _weighted(columns, (-1, 1)):
        for row, down in _weighted(rows, (-1, 1, 1)):
            pixels = np.take(np.take(ctx.array(0), row, 1), column, 2)
            products.append(rounded(pixels * down * along))
    return reduce(np.add, products)


def _weighted(taps: Taps, shape: tuple[int, ...]) -> list[tuple[Array, Array]]:
    """List the two pixels of each output pixel along an axis, with their weights."""
    share = taps.distance.astype(np.float32).reshape(shape)
    return [(taps.lower, np.float32(1) - share), (taps.upper, share)]


def copy_nearest(ctx: Context, data: Operand, size: tuple[int, ...], **centres: bool) -> Any:
    """Copy the nearest pixel."""
    result = ctx.array(0)
    for axis in (1, 2):
        pixels = nearest_pixels(data.shape[axis], size[axis - 1], **centres)
        result = np.take(result, pixels, axis)
    return result


def _size(ctx: Context) -> tuple[int, ...]:
    size = ctx.integers(1)
    if len(size) != 2 or not all(0 <= each <= _MOST_PIXELS for each in size):
        raise QnnError(
            f"the size must be height and width, 0 to {_MOST_PIXELS} each way, got {size}"
        )
    return size


def _of_integers(method: str) -> Resize:
    return lambda _, data, size, **centres: quantized_resize2d(
        data.expr, size, method, layout="NHWC", **centres
    )


OPERATORS.update(
    {
        "RESIZE_BILINEAR": Row(
            scaled=_resized(_of_integers("bilinear")),
            floats=_resized(resize_floats),
            micro=COMPUTED,
            is_for_every_scale=True,
        ),
        "RESIZE_NEAREST_NEIGHBOR": Row(
            scaled=_resized(_of_integers("nearest_neighbor")),
            floats=_resized(copy_nearest),
            whole=_resized(copy_nearest),
            micro=MOVED,
            is_for_every_scale=True,
        ),
    }
)
