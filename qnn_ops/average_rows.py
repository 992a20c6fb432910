"""Rows added up at places, and divided by what they weigh."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.attributes import int_attr
from qnn_ops.checks import check_dtype, check_rank
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]


@operator("rows", "weights", "places", traits=FIXED)
def average_rows(
    rows: relax.Expr, weights: relax.Expr, places: relax.Expr, count: int, is_root: bool = False
) -> relax.Call:
    """Add rows up at places, and divide by the sum of their weights, or by its root.

    Rows of one place that follow one another are added up, then divided. If others of that place
    come later, they are added to the quotient, and it is divided by their weights. Source:
    kernels/embedding_lookup_sparse.cc of TFLite.

    Args:
        rows: float32 [number, size].
        weights: float32 [number].
        places: int32 [number], each from 0 to count - 1; another is a place at the nearest end.
        count: of the places.
        is_root: whether the divisor is the root of the sum.

    Returns:
        A call whose result is float32 [count, size]; zeros where no row is put.

    Raises:
        QnnError: if a dtype, a shape or the count does not fit.
    """
    return average_rows.call(
        [rows, weights, places],
        count=int_attr("count", count),
        is_root=bool(is_root),
    )


@average_rows.type_rule
def _type(attrs: Attrs, rows: TensorSpec, weights: TensorSpec, places: TensorSpec) -> TensorSpec:
    check_dtype("rows", rows.dtype, ("float32",))
    check_dtype("weights", weights.dtype, ("float32",))
    check_dtype("places", places.dtype, ("int32",))
    check_rank("rows", rows, 2)
    number, size = rows.shape
    for name, spec in (("weights", weights), ("places", places)):
        if spec.shape != (number,):
            raise QnnError(f"{name} must have shape {(number,)}, got {spec.shape}")
    if attrs.count < 1:
        raise QnnError(f"count must be at least 1, got {attrs.count}")
    return TensorSpec((attrs.count, size), "float32")


average_rows.overflow_rule(cannot_overflow)


@average_rows.reference
def _reference(attrs: Attrs, rows: Array, weights: Array, places: Array) -> Array:
    result = np.zeros((attrs.count, rows.shape[1]), np.float32)
    inside = np.clip(places, 0, attrs.count - 1)
    ends = np.flatnonzero(np.diff(inside)) + 1
    for run in np.split(np.arange(len(rows)), ends):
        total = np.float32(0)
        for each in run:
            result[inside[each]] += rows[each]
            total += weights[each]
        if len(run):
            with np.errstate(all="ignore"):
                result[inside[run[0]]] /= np.sqrt(total) if attrs.is_root else total
    return result
