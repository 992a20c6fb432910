"""Reduction of the elements of windows of a tensor, in order."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.checks import check_dtype
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32")
REDUCTIONS = ("add", "multiply", "maximum", "minimum", "all", "any")


@operator(traits=FIXED, overflows=False)
def reduce_windows(
    data: Annotated[relax.Expr, declared.Tensor(DTYPES)],
    start: relax.Expr,
    window: declared.Ints,
    strides: declared.Ints,
    dilations: declared.Ints,
    reduction: Annotated[str, declared.choice(*REDUCTIONS)] = "add",
) -> None:
    """Combine a value with the elements of each window, in their order.

    Source: StridedReduce of TFLite's kernels/stablehlo_reduce_window.cc. If one of two numbers is
    NaN, "maximum" and "minimum" are the second one.

    Args:
        data: any shape with axes, int8, uint8, int16, int32, int64 or float32.
        start: [1], of the data's dtype.
        window: the number of a window's elements along each axis.
        strides: the distances from one window to the next.
        dilations: the distances from one element of a window to the next.
        reduction: "add", "multiply", "maximum", "minimum", "all" or "any"; the last two give 1 or
            0. Integers wrap, but int64 must not overflow.

    Returns:
        A call whose result has the data's dtype, and as many elements as there are windows inside
        the data.
    """


@reduce_windows.type_rule
def _type(attrs: Attrs, data: TensorSpec, start: TensorSpec) -> TensorSpec:
    check_dtype("start", start.dtype, (data.dtype,))
    if start.shape != (1,):
        raise QnnError(f"start must have shape (1,), got {start.shape}")
    for name in ("window", "strides", "dilations"):
        values = list(getattr(attrs, name))
        if len(values) != len(data.shape) or min(values, default=0) < 1:
            raise QnnError(f"{name} must be positive, one for each of {data.shape}, got {values}")
    counts = window_counts(data.shape, attrs.window, attrs.strides, attrs.dilations)
    if 0 in counts:
        raise QnnError(f"windows of {list(attrs.window)} do not fit into {data.shape}")
    return TensorSpec(counts, data.dtype)


def window_counts(
    shape: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...]:
    """Return the number of windows inside a shape along each axis."""
    return tuple(
        max(0, (size - (taps - 1) * dilation - 1) // stride + 1)
        for size, taps, stride, dilation in zip(shape, window, strides, dilations, strict=True)
    )


_COMBINED: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": lambda total, new: np.where(total >= new, total, new),
    "minimum": lambda total, new: np.where(total <= new, total, new),
    "all": lambda total, new: np.logical_and(total, new).astype(total.dtype),
    "any": lambda total, new: np.logical_or(total, new).astype(total.dtype),
}


@reduce_windows.reference
def _reference(attrs: Attrs, data: Array, start: Array) -> Array:
    combine = _COMBINED[attrs.reduction]
    counts = window_counts(data.shape, attrs.window, attrs.strides, attrs.dilations)
    total = np.full(counts, start[0], data.dtype)
    for taps in np.ndindex(*attrs.window):
        begins = [tap * dilation for tap, dilation in zip(taps, attrs.dilations, strict=True)]
        part = data[
            tuple(
                slice(begin, begin + (count - 1) * stride + 1, stride)
                for begin, count, stride in zip(begins, counts, attrs.strides, strict=True)
            )
        ]
        with np.errstate(all="ignore"):
            total = combine(total, part)
    return total
