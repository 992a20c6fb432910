"""Takes rows of images, and joins rows to images: as parts of memory, or as copies."""

from collections.abc import Sequence

import numpy as np
from tvm import relax, tirx
from tvm.script.ir_builder import tirx as T

from legalize.loop_functions import add_function
from legalize.written import arguments, new_function
from qnn_ops.dialect.registry import TensorSpec, spec_of

TAKES = "qnn.takes_bytes"
"""The attribute of a function whose result is a part of its argument's bytes: the first byte."""

JOINS = "qnn.joins_bytes"
"""The attribute of a function whose result is all of its arguments, one after the other."""


def take_rows(builder: relax.BlockBuilder, image: relax.Expr, first: int, count: int) -> relax.Expr:
    """Return some rows of an image, [1, H, W, C].

    Args:
        builder: the module's builder.
        image: a variable.
        first: the number of the first row.
        count: the number of rows.
    """
    spec = spec_of(image)
    _, height, width, channels = spec.shape
    if count == height:
        return image
    pitch = width * channels
    taken = TensorSpec((1, count, width, channels), spec.dtype)
    function = _copies([spec], taken, [(first * pitch, 0, count * pitch)], "take_rows")
    begin = first * pitch * np.dtype(spec.dtype).itemsize
    variable = add_function(builder, "take_rows", function, **{TAKES: begin})
    return builder.emit(relax.call_tir(variable, [image], _type(taken)))


def join_rows(builder: relax.BlockBuilder, parts: Sequence[relax.Expr]) -> relax.Expr:
    """Concatenate images, [1, H, W, C], along the rows.

    Args:
        builder: the module's builder.
        parts: variables.
    """
    specs = [spec_of(part) for part in parts]
    _, _, width, channels = specs[0].shape
    heights = [spec.shape[1] for spec in specs]
    joined = TensorSpec((1, sum(heights), width, channels), specs[0].dtype)
    ends = np.cumsum([0, *heights]) * width * channels
    spans = [(0, int(end), int(ends[i + 1] - end)) for i, end in enumerate(ends[:-1])]
    function = _copies(specs, joined, spans, "join_rows")
    variable = add_function(builder, "join_rows", function, **{JOINS: True})
    return builder.emit(relax.call_tir(variable, list(parts), _type(joined)))


def _type(spec: TensorSpec) -> relax.TensorType:
    return relax.TensorType(spec.shape, spec.dtype)


def _copies(
    sources: Sequence[TensorSpec],
    result: TensorSpec,
    spans: Sequence[tuple[int, int, int]],
    name: str,
) -> tirx.PrimFunc:
    """Build a function that copies elements of each source: (from, to, count)."""
    with new_function(name) as builder:
        kinds = [(spec.shape, spec.dtype) for spec in (*sources, result)]
        *data, output = arguments(**{f"image_{i}": kind for i, kind in enumerate(kinds)})
        for source, (start, to, count) in zip(data, spans, strict=True):
            with T.serial(count) as i:
                T.buffer_store(output, source[start + i], [to + i])
    return builder.get()
