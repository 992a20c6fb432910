"""Resize by cubic functions, along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded

Array = np.ndarray[Any, Any]

_NEIGHBOURS = range(-1, 3)


def resize_cubic(
    builder: relax.BlockBuilder, data: relax.Expr, axis: int, old: Array, slope: Any
) -> relax.Expr:
    """Return the sum of four neighbours along an axis times their shares, from the first on.

    What is beyond an end is as what is at the end.

    Args:
        builder: of the function.
        data: float32.
        axis: of the data.
        old: where each new place lies among the old ones, float32.
        slope: of the functions where they cross 0, ``cubic_coeff_a``.
    """
    emit, shape = builder.emit, spec_of(data).shape
    size, first = shape[axis], np.floor(old)
    shares = _shares(old - first, np.float32(slope))
    places = [first.astype(np.int64) + step for step in _NEIGHBOURS]
    column = [-1, *[1] * (len(shape) - 1 - axis)]
    result: relax.Expr | None = None
    for share, place in zip(shares, places, strict=True):
        known = relax.const(np.clip(place, 0, size - 1), "int64")
        neighbour = emit(R.take(data, known, axis, mode="clip"))
        term = rounded(emit(R.multiply(neighbour, relax.const(share.reshape(column)))))
        result = term if result is None else emit(R.add(result, emit(term)))
    return result


def _shares(part: Array, a: Any) -> list[Array]:
    """Return those of the four neighbours, each operation rounded to float32."""
    one, two = np.float32(1), np.float32(2)
    four, five, eight = (np.float32(number) for number in (4, 5, 8))

    def far(x: Array) -> Array:
        return np.asarray(((a * x - five * a) * x + eight * a) * x - four * a)

    def near(x: Array) -> Array:
        return np.asarray(((a + two) * x - (a + np.float32(3))) * x * x + one)

    return [far(part + one), near(part), near(one - part), far(two - part)]
