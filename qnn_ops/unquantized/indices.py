"""Indices that depend on the data: checks indices, and finds those of the largest elements."""

from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError, refuse_index

COUNTED_DTYPES = ("int8", "uint8", "int16", "int32", "int64")


@operator(traits=FIXED, overflows=False)
def counted_indices(
    indices: Annotated[relax.Expr, declared.Tensor(COUNTED_DTYPES)],
    size: declared.Int,
    source: declared.Text,
    from_end: declared.Flag = False,
) -> None:
    """Check indices when the model runs, and count negative ones from the end.

    An index out of range ends the run with a QnnError that names the source and the index.
    Exported C code raises no errors: it takes the nearest valid index.

    Args:
        indices: int8, uint8, int16, int32 or int64, any shape.
        size: how many elements the indices choose among.
        source: the operator that reads them, for the error.
        from_end: whether -1 means the last element, and so on; if not, negative indices are errors.

    Returns:
        A call whose result has the indices' shape and dtype, from 0 to ``size`` - 1.
    """


@counted_indices.type_rule
def _counted_indices_type(attrs: Attrs, indices: TensorSpec) -> TensorSpec:
    if attrs.size < 1:
        raise QnnError(f"size must be at least 1, got {attrs.size}")
    return indices


@counted_indices.reference
def _counted_indices_reference(attrs: Attrs, indices: Array) -> Array:
    wide = indices.astype(np.int64)
    wrong = wide[(wide >= attrs.size) | (wide < (-attrs.size if attrs.from_end else 0))]
    if wrong.size:
        refuse_index(attrs.source, int(wrong[0]), attrs.size)
    return np.where(wide < 0, wide + attrs.size, wide).astype(indices.dtype)


INDEX_DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32")


@operator(traits=FIXED, overflows=False)
def top_indices(
    data: Annotated[relax.Expr, declared.Tensor(INDEX_DTYPES, 2)], count: declared.Int
) -> None:
    """Find the largest elements of each row: the largest first, of equal ones the first in the row.

    Source of the order: TopContainer of TFLite's kernels/topk_v2.cc.

    Args:
        data: [rows, size], without NaN.
        count: how many indices to find, at most size.

    Returns:
        A call whose result is int32, [rows, count].
    """


@top_indices.type_rule
def _top_indices_type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    rows, size = data.shape
    if not 0 < attrs.count <= size:
        raise QnnError(f"count must be 1 to {size}, as rows have {size} elements: {attrs.count}")
    return TensorSpec((rows, attrs.count), "int32")


@top_indices.reference
def _top_indices_reference(attrs: Attrs, data: Array) -> Array:
    # A stable sort of the reversed row puts the first of equal elements last.
    rising = np.argsort(data[:, ::-1], axis=1, kind="stable")
    falling = data.shape[1] - 1 - rising[:, ::-1]
    return falling[:, : attrs.count].astype(np.int32)
