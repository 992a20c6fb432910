"""The places of the largest elements of each row."""

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

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32")


@operator(
    "data",
    traits=FIXED,
)
def top_places(data: relax.Expr, count: int) -> relax.Call:
    """Find the largest elements of each row: the largest first, of equal ones the first in the row.

    Source of the order: TopContainer of TFLite's kernels/topk_v2.cc.

    Args:
        data: [rows, size], without NaN.
        count: how many places to find, at most size.

    Returns:
        A call whose result is int32, [rows, count].

    Raises:
        QnnError: if the dtype, the shape or the count does not fit.
    """
    return top_places.call([data], count=int_attr("count", count))


@top_places.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("data", data.dtype, DTYPES)
    check_rank("data", data, 2)
    rows, size = data.shape
    if not 0 < attrs.count <= size:
        raise QnnError(f"count must be 1 to {size}, as rows have {size} elements: {attrs.count}")
    return TensorSpec((rows, attrs.count), "int32")


top_places.overflow_rule(cannot_overflow)


@top_places.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    # Backwards, so that a stable sort leaves the first of equal ones last.
    rising = np.argsort(data[:, ::-1], axis=1, kind="stable")
    falling = data.shape[1] - 1 - rising[:, ::-1]
    return falling[:, : attrs.count].astype(np.int32)
