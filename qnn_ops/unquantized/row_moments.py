"""The mean and the variance of rows of float32, whose elements are added in a stated order."""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError

ORDERS = ("two_passes", "welford", "squares", "vectors", "vector_squares")
WIDE, LANES = 4, 8
"""The lanes of a float64 vector and of a float32 vector with AVX2."""


@operator(traits=FIXED, overflows=False)
def row_moments(
    rows: declared.FloatMatrix, order: Annotated[str, declared.choice(*ORDERS)]
) -> None:
    """Compute the mean of each row, and the mean of the squared distances from it.

    Elements are added one by one, and each product, quotient and sum is rounded. The last two
    orders are exceptions. All sources are ONNX Runtime's: contrib_ops/cpu/bert/embed_layer_norm.cc
    for "two_passes", contrib_ops/cpu/skip_layer_norm.cc for "welford" and "squares", and MLAS'
    layernorm_kernel_avx2.cpp, as version 1.32 compiles it, for the last two.

    Args:
        rows: float32 [number, size].
        order: "two_passes" adds the elements, then the squares of their distances from the mean;
            "welford" corrects both numbers with each element; "squares" adds the squares of the
            elements, and takes 0 for the mean; "vectors" adds the elements in float64, in four
            lanes, then the squares of distances in eight lanes, with one rounding of a square and a
            sum; "vector_squares" adds the squares of the elements like these.

    Returns:
        A call whose result is float32 [number, 2]: mean, and mean of squares.
    """


@row_moments.type_rule
def _type(_attrs: Attrs, rows: TensorSpec) -> TensorSpec:
    if 0 in rows.shape:
        raise QnnError(f"rows must have elements, got shape {rows.shape}")
    return TensorSpec((rows.shape[0], 2), "float32")


@row_moments.reference
def _reference(attrs: Attrs, rows: Array) -> Array:
    with np.errstate(all="ignore"):
        mean, squares = _RULES[attrs.order](rows.T)
        return np.stack([mean, squares / np.float32(rows.shape[1])], axis=1)


def _added(columns: Array) -> Array:
    total = np.zeros(columns.shape[1], np.float32)
    for column in columns:
        total = total + column
    return total


def _two_passes(columns: Array) -> tuple[Array, Array]:
    mean = _added(columns) / np.float32(len(columns))
    distances = columns - mean
    return mean, _added(distances * distances)


def _welford(columns: Array) -> tuple[Array, Array]:
    mean = squares = np.zeros(columns.shape[1], np.float32)
    for number, column in enumerate(columns, 1):
        distance = column - mean
        mean = mean + distance / np.float32(number)
        squares = squares + distance * (column - mean)
    return mean, squares


def _squares(columns: Array) -> tuple[Array, Array]:
    return np.zeros(columns.shape[1], np.float32), _added(columns * columns)


def _vectors(columns: Array) -> tuple[Array, Array]:
    size = len(columns)
    wide = columns.astype(np.float64)
    whole = size // WIDE * WIDE
    lanes = np.zeros((WIDE, columns.shape[1]))
    for turn in range(0, whole, WIDE):
        lanes = lanes + wide[turn : turn + WIDE]
    total = _halved(lanes)
    for column in wide[whole:]:
        total = total + column
    mean = (total / size).astype(np.float32)
    return mean, _vector_squares(columns - mean)[1]


def _vector_squares(columns: Array) -> tuple[Array, Array]:
    size = len(columns)
    whole, rounded = (size // lanes * lanes for lanes in (LANES, LANES // 2))
    lanes = np.zeros((LANES, columns.shape[1]), np.float32)
    for turn in range(0, whole, LANES):
        part = columns[turn : turn + LANES]
        lanes = fused_multiply_add_float32(part, part, lanes)
    total = _halved(lanes)
    # Four remaining elements are squared as a vector; then each square is added.
    for column in columns[whole:rounded]:
        total = total + column * column
    for column in columns[max(whole, rounded) :]:
        total = fused_multiply_add_float32(column, column, total)
    return np.zeros(columns.shape[1], np.float32), total


def _halved(lanes: Array) -> Array:
    """Add the second half of the lanes to the first, until one is left."""
    while len(lanes) > 1:
        low, high = np.split(lanes, 2)
        lanes = low + high
    return np.asarray(lanes[0])


_RULES: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "two_passes": _two_passes,
    "welford": _welford,
    "squares": _squares,
    "vectors": _vectors,
    "vector_squares": _vector_squares,
}
