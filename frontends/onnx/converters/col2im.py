"""Col2Im."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of

_MOST = 1 << 24


@converter("Col2Im")
def _col2im(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Add up, for each pixel, what columns have for it, one tap after the other."""
    data, *given = operands_of(operands, 3)
    known = [constant_of(each) for each in given]
    if any(each is None for each in known):
        raise UnsupportedError("the shapes of the image and the block must be constant")
    image, block = ([int(size) for size in each] for each in known if each is not None)
    rank, (batch, depth, places) = len(image), spec_of(data).shape
    stride, dilation = (list(attributes.get(name, [1] * rank)) for name in ("strides", "dilations"))
    before = list(attributes.get("pads", [0] * 2 * rank))
    axes = range(rank)
    lengths = [len(block), len(stride), len(dilation), len(before) // 2]
    if lengths != [rank] * 4 or min(*image, *block, *stride, *dilation) < 1:
        raise UnsupportedError(f"an image {image} of blocks {block}")
    counts = [
        (image[n] + before[n] + before[n + rank] - dilation[n] * (block[n] - 1) - 1) // stride[n]
        + 1
        for n in axes
    ]
    taps = prod(block)
    if min(counts) < 1 or prod(counts) != places or depth % taps or taps * prod(image) > _MOST:
        raise UnsupportedError(f"columns of shape {(batch, depth, places)} for an image {image}")
    table = []
    for number, tap in enumerate(product(*map(range, block))):
        found, is_there = np.zeros((1,) * rank, np.int64), np.ones((1,) * rank, bool)
        for n in axes:
            offsets = np.arange(image[n]) + before[n] - tap[n] * dilation[n]
            fits = (offsets % stride[n] == 0) & (offsets >= 0) & (offsets < counts[n] * stride[n])
            along = [-1 if each == n else 1 for each in axes]
            found = found * counts[n] + (offsets // stride[n]).reshape(along)
            is_there = is_there & fits.reshape(along)
        table.append(np.where(is_there, number * places + found, taps * places).reshape(-1))
    emit, channels, dtype = builder.emit, depth // taps, spec_of(data).dtype
    flat = emit(R.reshape(data, (batch, channels, taps * places)))
    nothing = relax.const(np.zeros((batch, channels, 1), dtype), dtype)
    padded = emit(R.concat([flat, nothing], 2))
    taken = emit(R.take(padded, relax.const(np.concatenate(table)), 2, mode="clip"))
    parts = emit(R.reshape(taken, (batch, channels, taps, prod(image))))
    return R.reshape(emit(R.sum(parts, 2)), (batch, channels, *image))
