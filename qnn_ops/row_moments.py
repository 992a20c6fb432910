"""The mean and the variance of rows of float32, in an order that is stated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_choice, check_dtype, check_rank
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

ORDERS = ("two_passes", "welford", "squares")


@operator("rows", traits=FIXED)
def row_moments(rows: relax.Expr, order: str) -> relax.Call:
    """Compute the mean of each row, and that of the squared distances from it.

    Elements are added one by one, and each product, quotient and sum is rounded. Sources, all of
    ONNX Runtime: contrib_ops/cpu/bert/embed_layer_norm.cc of "two_passes",
    contrib_ops/cpu/skip_layer_norm.cc of the others.

    Args:
        rows: float32 [number, size].
        order: "two_passes" adds the elements, then the squares of their distances from the mean;
            "welford" corrects both numbers with each element; "squares" adds the squares of the
            elements, and takes 0 for the mean.

    Returns:
        A call whose result is float32 [number, 2]: mean, and mean of squares.

    Raises:
        QnnError: if a dtype, a shape or the order does not fit.
    """
    return row_moments.call([rows], order=order)


@row_moments.type_rule
def _type(attrs: Attrs, rows: TensorSpec) -> TensorSpec:
    check_dtype("rows", rows.dtype, ("float32",))
    check_rank("rows", rows, 2)
    check_choice("order", attrs.order, ORDERS)
    if 0 in rows.shape:
        raise QnnError(f"rows must have elements, got shape {rows.shape}")
    return TensorSpec((rows.shape[0], 2), "float32")


row_moments.overflow_rule(cannot_overflow)


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


_RULES: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "two_passes": _two_passes,
    "welford": _welford,
    "squares": _squares,
}
