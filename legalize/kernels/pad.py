"""Copies of byte tensors with a constant around them."""

from functools import cache
from math import prod

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.ir.rows import copy, fill
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import Index
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.written import arguments, new_function
from qnn_ops import quantized_pad
from qnn_ops.dialect.registry import Attrs, spec_of

Axis = tuple[int, int, int]
"""An axis's size, and the number of values before and after it."""

# Roughly what one thread copies from and to the second-level cache.
_BYTES_PER_MICROSECOND = 20_000


@cache
def _padded(
    shape: tuple[int, ...], dtype: str, widths: tuple[tuple[int, int], ...], value: int
) -> tirx.PrimFunc:
    """Build the function that pads.

    Args:
        shape: the data's shape, not empty.
        dtype: int8 or uint8.
        widths: values before and after, for each axis.
        value: the padding.

    Returns:
        A function of the data and the output.
    """
    axes = merged_axes(shape, widths)
    out_shape = tuple(size + sum(width) for size, width in zip(shape, widths, strict=True))
    with new_function("pad") as builder:
        source, target = arguments(data=(shape, dtype), output=(out_shape, dtype))
        tasks = task_count(prod(out_shape) / _BYTES_PER_MICROSECOND)

        def level(depth: int, first: Index, start: Index) -> None:
            (extent, before, after), *inner = axes[depth:]
            from_size = prod(size for size, _, _ in inner)
            to_size = prod(sum(axis) for axis in inner)
            fill(target, start, before * to_size, value)
            if inner:
                shared_loop(
                    1 if depth else tasks,
                    extent,
                    lambda i: level(
                        depth + 1, first + i * from_size, start + (before + i) * to_size
                    ),
                )
            else:
                copy(target, start + before, source, first, extent)
            fill(target, start + (before + extent) * to_size, after * to_size, value)

        level(0, T.int32(0), T.int32(0))
    return builder.get()


def merged_axes(shape: tuple[int, ...], widths: tuple[tuple[int, int], ...]) -> list[Axis]:
    """Return the fewest equivalent axes: only the first may have no padding."""
    axes: list[Axis] = []
    for size, (before, after) in reversed(list(zip(shape, widths, strict=True))):
        if axes and axes[0][1:] == (0, 0):
            inner = axes.pop(0)[0]
            axes.insert(0, (size * inner, before * inner, after * inner))
        else:
            axes.insert(0, (size, before, after))
    if len(axes) > 1 and axes[0] == (1, 0, 0):
        axes.pop(0)
    return axes


def _pad(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    data = spec_of(operands[0])
    if not any(attrs.pad_width) or 0 in data.shape:
        return None
    widths = tuple(zip(attrs.pad_width[::2], attrs.pad_width[1::2], strict=True))
    function = _padded(data.shape, data.dtype, widths, attrs.pad_value)
    return call_written(builder, function, operands)


RULES = ((quantized_pad, _pad),)
