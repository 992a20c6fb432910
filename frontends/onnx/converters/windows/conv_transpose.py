"""ConvTranspose and Col2Im: sums of overlapping windows, in ONNX Runtime's order."""

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, formula
from qnn_ops.dialect.expressions import operand

_MOST_ELEMENTS = 1 << 24


@formula("Col2Im")
def _col2im(call: Call, data: Any) -> Any:
    """Add up each pixel's values in the columns, one tap after the other."""
    what = "the shapes of the image and the block"
    image, block = (call.constant(index, what).tolist() for index in (1, 2))
    rank, (batch, depth, columns) = len(image), data.shape
    stride, dilation = (call.integers(name, [1] * rank) for name in ("strides", "dilations"))
    before, axes = call.integers("pads", [0] * 2 * rank), range(rank)
    lengths = [len(block), len(stride), len(dilation), len(before) // 2]
    if lengths != [rank] * 4 or min(*image, *block, *stride, *dilation) < 1:
        raise UnsupportedError(f"an image {image} of blocks {block}")
    spans = [dilation[n] * (block[n] - 1) + 1 for n in axes]
    room = [image[n] + before[n] + before[n + rank] - spans[n] for n in axes]
    counts, taps = [room[n] // stride[n] + 1 for n in axes], prod(block)
    fits = min(counts) > 0 and prod(counts) == columns and depth % taps == 0
    if not fits or taps * prod(image) > _MOST_ELEMENTS:
        raise UnsupportedError(f"columns of shape {(batch, depth, columns)} for an image {image}")
    table = []
    for number, tap in enumerate(product(*map(range, block))):
        found, is_there = np.zeros((1,) * rank, np.int64), np.ones((1,) * rank, bool)
        for n in axes:
            offsets = np.arange(image[n]) + before[n] - tap[n] * dilation[n]
            met = (offsets % stride[n] == 0) & (offsets >= 0) & (offsets < counts[n] * stride[n])
            along = [-1 if each == n else 1 for each in axes]
            found = found * counts[n] + (offsets // stride[n]).reshape(along)
            is_there = is_there & met.reshape(along)
        table.append(np.where(is_there, number * columns + found, taps * columns).reshape(-1))
    flat = data.reshape(batch, depth // taps, taps * columns)
    nothing = data.to(operand(np.zeros((batch, depth // taps, 1)), data.dtype))
    padded: Any = np.concatenate([flat, nothing], 2)
    taken = data.to(R.take(padded.expr, relax.const(np.concatenate(table)), 2, mode="clip"))
    parts = taken.reshape(batch, depth // taps, taps, prod(image))
    return parts.sum(2, data.dtype).reshape(batch, depth // taps, *image)


_BLOCK = 128
"""ONNX Runtime's block of a matrix product: this many products, and columns if there are many."""
_FEWEST = 16
"""ONNX Runtime does not halve blocks of this many columns."""
_MOST_CHANNELS = 1024
"""The most taps of a window, and phases of its strides: each has its own operators."""


@formula("ConvTranspose")
def _conv_transpose(call: Call, data: Any, weights: Any, bias: Any) -> Any:
    """Multiply each pixel by the weights of all taps, and add up the products of each result.

    The order is ONNX Runtime's: the sums over channels first, then the taps, one by one, then the
    bias.
    """
    batch, channels, *image = data.shape
    depth, units, *kernel = weights.shape
    groups = call.integer("group", 1)
    if depth != channels or groups < 1 or channels % groups or len(kernel) != len(image):
        raise UnsupportedError(
            f"{groups} groups of weights of shape {list(weights.shape)} for data of shape "
            f"{list(data.shape)}"
        )
    if not kernel or call.integers("kernel_shape", kernel) != kernel:
        raise UnsupportedError(f"its weights have windows of {kernel}")
    columns, rows = prod(image), units * prod(kernel)
    pixels = data.reshape(batch, groups, channels // groups, columns)
    taps = weights.reshape(groups, channels // groups, rows)
    products = _products(np.transpose(taps, [0, 2, 1]), pixels)
    parts = products.reshape(batch, groups * units, *kernel, *image)
    axes = list(_axes(call, image, kernel))
    count = max(prod(kernel), prod(axis.stride for axis in axes))
    if count > _MOST_CHANNELS:
        raise UnsupportedError(f"a window of {count} taps or phases, the most are {_MOST_CHANNELS}")
    result = _overlaid(parts, axes)
    return result if bias is None else result + bias.reshape(1, -1, *[1] * len(image))


def _products(rows: Any, columns: Any) -> Any:
    """Multiply matrices; long sums are added block by block, as in ONNX Runtime."""
    depth, count = columns.shape[-2:]
    size, total = _block(depth, count), None
    for begin in range(0, depth, size):
        end = min(begin + size, depth)
        part = rows[:, :, begin:end] @ columns[:, :, begin:end]
        total = part if total is None else total + part
    return total


def _block(depth: int, columns: int) -> int:
    """Return how many products ONNX Runtime adds up before it adds their sum to the total."""
    size, width = _BLOCK, _BLOCK
    if columns >= depth:
        return size  # its block may be smaller, but still holds all products
    while width > _FEWEST and width // 2 >= columns:
        size, width = size * 2, width // 2
    return size


class _Axis:
    """One axis of the image.

    Attributes:
        stride: of the pixels in the result.
        size: of the result.
        begin: the first index of the result that is kept.
        taps: the phase of each tap, and its offset in strides.
        length: of the result in strides, including the parts that are cut off.
        tiles: whether each phase has exactly one tap.
    """

    def __init__(self, image: int, taps: list[int], stride: int, size: int, begin: int) -> None:
        self.stride, self.size, self.begin = stride, size, begin
        self.taps = [(index % stride, index // stride) for index in taps]
        reached = image + max(move for _, move in self.taps)
        self.length = max(reached, -(-(begin + size) // stride))
        self.tiles = self.taps == [(phase, 0) for phase in range(stride)] and self.length == image
        self.image = image


def _axes(call: Call, image: list[int], kernel: list[int]) -> Iterator[_Axis]:
    """Read the window."""
    rank = len(image)
    strides, dilations = (call.integers(name, [1] * rank) for name in ("strides", "dilations"))
    more, mode = call.integers("output_padding", [0] * rank), call.text("auto_pad", "NOTSET")
    pads = [0] * 2 * rank if mode != "NOTSET" else call.integers("pads", [0] * 2 * rank)
    sizes = call.integers("output_shape")[-rank:]
    if not len(strides) == len(dilations) == len(more) == rank or len(pads) != 2 * rank:
        raise UnsupportedError("attributes of its window have different lengths")
    if min(*strides, *dilations) < 1 or min(*pads, *more) < 0 or len(sizes) not in (0, rank):
        raise UnsupportedError("sizes of its window must not be negative")
    for axis, extent in enumerate(image):
        step, taps = strides[axis], [tap * dilations[axis] for tap in range(kernel[axis])]
        whole = (extent - 1) * step + taps[-1] + 1 + more[axis]
        before, size = pads[axis], whole - pads[axis] - pads[axis + rank]
        if sizes or mode.startswith("SAME"):
            size = sizes[axis] if sizes else extent * step
            total = max(whole - size, 0)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
        if size < 1:
            raise UnsupportedError("its padding leaves nothing")
        yield _Axis(extent, taps, step, size, before)


def _overlaid(parts: Any, axes: list[_Axis]) -> Any:
    """Add up the products of taps, in order: [N, C, taps…, image…] to [N, C, result…]."""
    rank, shape = len(axes), parts.shape[:2]
    sums = parts if all(axis.tiles for axis in axes) else _summed(parts, axes)
    order = [each for axis in range(rank) for each in (2 + rank + axis, 2 + axis)]
    result: Any = np.transpose(sums, [0, 1, *order])
    result = result.reshape(*shape, *(axis.length * axis.stride for axis in axes))
    return result[(..., *(slice(axis.begin, axis.begin + axis.size) for axis in axes))]


def _summed(parts: Any, axes: list[_Axis]) -> Any:
    """Add up the products of each result: [N, C, taps…, image…] to [N, C, strides…, lengths…]."""
    shape = parts.shape[:2]
    lengths = [axis.length for axis in axes]
    sums: dict[tuple[int, ...], Any] = {}
    kept = (*shape, *(axis.image for axis in axes))
    for tap in product(*(range(len(axis.taps)) for axis in axes)):
        found = [axis.taps[index] for axis, index in zip(axes, tap, strict=True)]
        part = parts[(slice(None), slice(None), *(slice(n, n + 1) for n in tap))]
        sides = [
            (move, axis.length - axis.image - move)
            for axis, (_, move) in zip(axes, found, strict=True)
        ]
        moved = np.pad(part.reshape(*kept), [(0, 0), (0, 0), *sides])
        phase = tuple(phase for phase, _ in found)
        sums[phase] = sums[phase] + moved if phase in sums else moved
    phases = product(*(range(axis.stride) for axis in axes))
    nothing = R.zeros((*shape, *lengths), "float32")
    tensors = [sums[phase].expr if phase in sums else nothing for phase in phases]
    return parts.to(R.stack(tensors, 2)).reshape(*shape, *(each.stride for each in axes), *lengths)
