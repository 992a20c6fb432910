"""Averages rows by weights, and writes rows at indices of a tensor."""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError


@operator(traits=FIXED, overflows=False)
def average_rows(
    rows: declared.FloatMatrix,
    weights: declared.Floats,
    indices: declared.Int32,
    count: declared.Int,
    is_root: declared.Flag = False,
) -> None:
    """Add rows at indices, and divide by the sum of their weights, or by its root.

    Consecutive rows of the same index are added, then divided. Later rows of that index are added
    to the quotient, which is then divided by their weights. Source:
    kernels/embedding_lookup_sparse.cc of TFLite.

    Args:
        rows: float32 [number, size].
        weights: float32 [number].
        indices: int32 [number], from 0 to count - 1; others count as the nearest valid index.
        count: the number of indices.
        is_root: whether the divisor is the root of the sum.

    Returns:
        A call whose result is float32 [count, size]; zeros at indices without rows.
    """


@average_rows.type_rule
def _average_rows_type(
    attrs: Attrs, rows: TensorSpec, weights: TensorSpec, indices: TensorSpec
) -> TensorSpec:
    number, size = rows.shape
    for name, spec in (("weights", weights), ("indices", indices)):
        if spec.shape != (number,):
            raise QnnError(f"{name} must have shape {(number,)}, got {spec.shape}")
    if attrs.count < 1:
        raise QnnError(f"count must be at least 1, got {attrs.count}")
    return TensorSpec((attrs.count, size), "float32")


@average_rows.reference
def _average_rows_reference(attrs: Attrs, rows: Array, weights: Array, indices: Array) -> Array:
    result = np.zeros((attrs.count, rows.shape[1]), np.float32)
    inside = np.clip(indices, 0, attrs.count - 1)
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


DTYPES = ("int8", "uint8", "int32", "int64", "float32")
REDUCTIONS = ("update", "add", "multiply", "maximum", "minimum")


@operator(traits=FIXED, overflows=False)
def scatter_rows(
    data: Annotated[relax.Expr, declared.Tensor(DTYPES, 2)],
    indices: Annotated[relax.Expr, declared.Tensor(("int32",), 1)],
    rows: Annotated[relax.Expr, declared.Tensor((), 2)],
    reduction: Annotated[str, declared.choice(*REDUCTIONS)] = "update",
) -> None:
    """Write rows at indices, one after the other, or combine each with the row that is there.

    Source of the order: ScatterNd, SparseToDense and UnsortedSegmentRef of TFLite's
    kernels/internal/reference.

    Args:
        data: [count, size], int8, uint8, int32, int64 or float32.
        indices: int32 [number], from 0 to count - 1; others count as the nearest valid index.
        rows: [number, size], of the data's dtype.
        reduction: "update", "add", "multiply", "maximum" or "minimum". Integers wrap, but int64
            must not overflow.

    Returns:
        A call whose result has the data's shape and dtype.
    """


@scatter_rows.type_rule
def _scatter_rows_type(
    attrs: Attrs, data: TensorSpec, indices: TensorSpec, rows: TensorSpec
) -> TensorSpec:
    if rows.dtype != data.dtype or rows.shape != (indices.shape[0], data.shape[1]):
        raise QnnError(
            f"rows must be {data.dtype} of shape {(indices.shape[0], data.shape[1])}, got "
            f"{rows.dtype} of shape {rows.shape}"
        )
    if data.shape[0] == 0:
        raise QnnError("data must have rows")
    return data


_COMBINED: dict[str, Callable[[Array, Array], Array]] = {
    "update": lambda _, new: new,
    "add": np.add,
    "multiply": np.multiply,
    "maximum": lambda old, new: np.where(old < new, new, old),
    "minimum": lambda old, new: np.where(new < old, new, old),
}


@scatter_rows.reference
def _scatter_rows_reference(attrs: Attrs, data: Array, indices: Array, rows: Array) -> Array:
    combine = _COMBINED[attrs.reduction]
    result = data.copy()
    for index, row in zip(np.clip(indices, 0, len(data) - 1), rows, strict=True):
        result[index] = combine(result[index], row)
    return result
