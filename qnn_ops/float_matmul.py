"""Products of float32 matrices, which are added in an order that is stated."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_dtype
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]


@operator("lhs", "rhs", traits=FIXED)
def float_matmul(lhs: relax.Expr, rhs: relax.Expr) -> relax.Call:
    """Multiply float32 matrices.

    Products are added to 0 one by one, in the order of the depth; each product and each sum is
    rounded. Source of the arithmetic: BATCH_MATMUL of LiteRT's reference kernels, as its builds
    for x86 compute it.

    Args:
        lhs: float32, [..., M, K].
        rhs: float32, [..., K, N]; the axes before broadcast with those of lhs.

    Returns:
        A call whose result is float32, [..., M, N].

    Raises:
        QnnError: if a shape or dtype does not fit.
    """
    return float_matmul.call([lhs, rhs])


@float_matmul.type_rule
def _type(_attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    for name, spec in (("lhs", lhs), ("rhs", rhs)):
        check_dtype(name, spec.dtype, ("float32",))
        if len(spec.shape) < 2:
            raise QnnError(f"{name} must have at least 2 dimensions, got shape {spec.shape}")
    try:
        outer = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    except ValueError:
        outer = None
    if outer is None or lhs.shape[-1] != rhs.shape[-2]:
        raise QnnError(f"matrices of shapes {lhs.shape} and {rhs.shape} have no product")
    return TensorSpec((*outer, lhs.shape[-2], rhs.shape[-1]), "float32")


float_matmul.overflow_rule(cannot_overflow)


@float_matmul.reference
def _reference(_attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    outer = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    total = np.zeros((*outer, lhs.shape[-2], rhs.shape[-1]), np.float32)
    with np.errstate(all="ignore"):
        for k in range(lhs.shape[-1]):
            total = total + lhs[..., :, k, None] * rhs[..., None, k, :]
    return total
