"""Resizing of images: to the nearest pixels, or by weights of four pixels."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.call import CHECKS, OWN, Call
from frontends.torch.reader import values_of
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of

_AXES = (2, 3)
_ONE, _HALF = np.float32(1), np.float32(0.5)


@OWN.of("upsample_nearest2d.vec")
def nearest(call: Call) -> Any:
    """Resize an image; TVM's importer rounds to a pixel, PyTorch takes the pixel before."""
    data, _, factors = call.values
    image, sizes = call.expr(data), call.node.meta["val"].shape[2:]
    shape = spec_of(image).shape[2:]
    if all(size % old == 0 for size, old in zip(sizes, shape, strict=True)) and (
        factors is None or all(factor % 1 == 0 for factor in factors)
    ):
        return call.by_tvm()
    for index, axis in enumerate(_AXES):
        step = np.float32(shape[index] / sizes[index])
        if factors is not None:
            step = np.float32(1 / factors[index])
        steps = np.arange(sizes[index], dtype=np.float32) * step
        pixels = np.minimum(np.floor(steps).astype(np.int64), shape[index] - 1)
        image = call.emit(R.take(image, relax.const(pixels, "int64"), axis=axis, mode="clip"))
    return image


@OWN.of("upsample_bilinear2d.vec")
def bilinear(call: Call) -> Any:
    """Resize an image, with PyTorch's steps if factors are not the quotients of the sizes.

    TVM's importer always uses the quotients.
    """
    if not _is_fractional(call.node):
        return call.by_tvm()
    data, _, _, factors = call.values
    image, sizes = call.array(data), call.node.meta["val"].shape[2:]
    for axis, size, factor in zip(_AXES, sizes, factors, strict=True):
        first, second, weights = _taps(size, image.shape[axis], factor)
        shape = [-1 if each == axis else 1 for each in range(image.ndim)]
        parts = [
            image.to(R.take(image.expr, relax.const(indices, "int64"), axis=axis, mode="clip"))
            * share.reshape(shape)
            for indices, share in ((first, _ONE - weights), (second, weights))
        ]
        image = parts[0] + parts[1]
    return image


@CHECKS.of("upsample_bicubic2d.vec")
def check_bicubic(node: Any) -> None:
    """Raise if an image is resized by factors that are not the quotients of its sizes."""
    if _is_fractional(node):
        raise UnsupportedError("its scale_factor gives no whole sizes: give a size")


def _taps(size: int, length: int, factor: float) -> tuple[Array, Array, Array]:
    """Return two pixels for each pixel of the result, and the weight of the second."""
    step = np.float32(1 / factor)
    steps = (np.arange(size, dtype=np.float32) + _HALF) * step - _HALF
    positions = np.maximum(steps, 0)
    first = np.minimum(positions.astype(np.int64), length - 1)
    weights = np.clip(positions - first.astype(np.float32), 0, 1)
    return first, np.minimum(first + 1, length - 1), weights


def _is_fractional(node: Any) -> bool:
    """Tell whether an image is resized by factors that are not the quotients of its sizes."""
    data, _, is_aligned, factors = values_of(node)
    shape = data.meta["val"].shape[2:]
    return (
        factors is not None
        and not is_aligned
        and any((size * factor) % 1 for size, factor in zip(shape, factors, strict=True))
    )
