"""Images enlarged or made smaller by the pixels that are nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.torch.reader import operator_of, values_of
from qnn_ops.registry import spec_of

NEAREST = "upsample_nearest2d.vec"

_AXES = (2, 3)


def nearest(node: Any, importer: Any) -> Any:
    """Resize an image; TVM's importer rounds where PyTorch takes the pixel before."""
    data, _, factors = values_of(node)
    image, sizes = importer.env[data], node.meta["val"].shape[2:]
    shape = spec_of(image).shape[2:]
    if all(size % old == 0 for size, old in zip(sizes, shape, strict=True)) and (
        factors is None or all(factor % 1 == 0 for factor in factors)
    ):
        return type(importer).create_convert_map(importer)[operator_of(node)](node)
    emit = importer.block_builder.emit
    for place, axis in enumerate(_AXES):
        step = np.float32(shape[place] / sizes[place])
        if factors is not None:
            step = np.float32(1 / factors[place])
        steps = np.arange(sizes[place], dtype=np.float32) * step
        pixels = np.minimum(np.floor(steps).astype(np.int64), shape[place] - 1)
        image = emit(R.take(image, relax.const(pixels, "int64"), axis=axis))
    return image
