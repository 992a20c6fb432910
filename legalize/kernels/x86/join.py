"""Joining tensors of bytes along an axis, each as it is or through a table, 64 at a time.

With one tensor it is any function of a byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.rows import for_each_piece, ramp, unsigned
from legalize.kernels.tasks import shared_loop, task_count
from legalize.kernels.x86.lookup import look_up, table_vectors

# Roughly what one thread copies from and to the second-level cache.
_BYTES_PER_MICROSECOND = 20_000


@dataclass(frozen=True)
class Part:
    """One of the tensors that are joined.

    Attributes:
        shape: Of the tensor.
        dtype: int8 or uint8.
        has_table: Whether its values are looked up.
    """

    shape: tuple[int, ...]
    dtype: str
    has_table: bool


@cache
def join(parts: tuple[Part, ...], axis: int, out_dtype: str) -> tirx.PrimFunc:
    """Build the function that joins tensors.

    Needs a target with ``avx512bw``, and ``avx512vbmi`` where a part has a table.

    Args:
        parts: The tensors; their shapes differ along the axis only.
        axis: Not negative.
        out_dtype: int8 or uint8.

    Returns:
        A function of the tensors; the tables of those that have one, uint8 [256], by the bits
        of the value and with those of the result; and the output.
    """
    first = parts[0].shape
    out_shape = (*first[:axis], sum(part.shape[axis] for part in parts), *first[axis + 1 :])
    rows, out_width = prod(first[:axis]), prod(out_shape[axis:])
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("join")
        T.func_attr({"global_symbol": "join", "tirx.noalias": True})
        sources = [
            T.arg(f"part_{number}", T.buffer(part.shape, part.dtype))
            for number, part in enumerate(parts)
        ]
        tables = [
            T.arg(f"table_{number}", T.buffer((256,), "uint8")) if part.has_table else None
            for number, part in enumerate(parts)
        ]
        output = T.arg("output", T.buffer(out_shape, out_dtype))
        target = T.decl_buffer((rows * out_width,), "uint8", data=output.data)
        start = 0
        for part, tensor, table in zip(parts, sources, tables, strict=True):
            source = T.decl_buffer((prod(part.shape),), part.dtype, data=tensor.data)
            width = prod(part.shape[axis:])
            vectors = None if table is None else table_vectors(table)
            copy = partial(_copy_row, target, out_width, start, source, width, vectors)
            shared_loop(task_count(rows * width / _BYTES_PER_MICROSECOND), rows, copy)
            start += width
    return builder.get()


def _copy_row(
    target: Any,
    out_width: int,
    start: int,
    source: Any,
    width: int,
    table: list[Any] | None,
    row: Any,
) -> None:
    def body(offset: Any, count: int) -> None:
        value = unsigned(source[ramp(row * width + offset, count)], count)
        if table is not None:
            value = look_up(table, value, count)
        T.buffer_store(target, value, [ramp(row * out_width + start + offset, count)])

    for_each_piece(width, body)
