"""Numbers between four pixels, at places that the run tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

Emit = Callable[[relax.Expr], relax.Expr]
Ends = Sequence[tuple[relax.Expr, relax.Expr]]
"""The pixels before and behind places along an axis, int64, and the shares of each, float32."""


def as_rows(emit: Emit, data: relax.Expr) -> relax.Expr:
    """Return the pixels of ``[batch, channels, height, width]``, each a row of its channels."""
    batch, channels, height, width = spec_of(data).shape
    moved = emit(R.permute_dims(data, [0, 2, 3, 1]))
    return emit(R.reshape(moved, (batch * height * width, channels)))


def ends_of(emit: Emit, at: relax.Expr, low: relax.Expr, size: int) -> Ends:
    """Return the pixels around places of an axis of ``size``; ``low`` is the floor of ``at``."""
    above = emit(R.subtract(at, low))
    first = emit(R.astype(low, "int64"))
    second = emit(R.minimum(emit(R.add(first, number(1, "int64"))), number(size - 1, "int64")))
    return [(first, emit(R.subtract(number(1.0), above))), (second, above)]


def products_at(
    emit: Emit, rows: relax.Expr, start: relax.Expr, width: int, down: Ends, across: Ends
) -> list[relax.Expr]:
    """Return what each of the four pixels around places gives, with the channels last.

    Args:
        emit: of the builder.
        rows: of ``as_rows``.
        start: the number of the first pixel of each place's image, int64.
        width: of an image.
        down: along the height; shapes broadcast.
        across: along the width.
    """
    found = []
    for line, share in down:
        begin = emit(R.add(emit(R.multiply(line, number(width, "int64"))), start))
        for column, part in across:
            place = emit(R.add(begin, column))
            shape = spec_of(place).shape
            flat = emit(R.reshape(place, (int(np.prod(shape)),)))
            pixels = emit(R.take(rows, flat, 0, mode="clip"))
            pixels = emit(R.reshape(pixels, (*shape, spec_of(rows).shape[1])))
            weight = emit(R.expand_dims(emit(R.multiply(share, part)), [len(shape)]))
            found.append(emit(rounded(emit(R.multiply(weight, pixels)))))
    return found


def total(emit: Emit, parts: Sequence[relax.Expr]) -> relax.Expr:
    """Add up from the first to the last."""
    result, *others = parts
    for each in others:
        result = emit(R.add(result, each))
    return result


def number(value: float, dtype: str = "float32") -> relax.Expr:
    """Return a constant of one number."""
    return relax.const(np.asarray(value, dtype), dtype)
