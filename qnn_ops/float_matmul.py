"""Products of float32 matrices, which are added in an order that is stated."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_choice, check_dtype
from qnn_ops.errors import QnnError
from qnn_ops.float_conv2d import ORDERS, order_of, panel_of
from qnn_ops.float_epilogue import fused_multiply_add_float32
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]


@operator("lhs", "rhs", traits=FIXED)
def float_matmul(lhs: relax.Expr, rhs: relax.Expr, order: str = "tflite") -> relax.Call:
    """Multiply float32 matrices.

    Products are added to 0 one by one, in the order of the depth; each product and each sum is
    rounded. Source of the arithmetic: BATCH_MATMUL of LiteRT's reference kernels, as its builds
    for x86 compute it.

    With order "onnxruntime" a product and its sum have one rounding, and ``panel_of`` products are
    added up by themselves; these sums are added one by one. Where the processor has no fused
    multiply-add, or for want of a kernel, the order is TVM's. Source: MLAS of ONNX Runtime with one
    thread, core/mlas/lib/sgemm.cpp, of matrices that are no constants nor have a single row or
    column.

    Args:
        lhs: float32, [..., M, K].
        rhs: float32, [..., K, N]; the axes before broadcast with those of lhs.
        order: "tflite" or "onnxruntime".

    Returns:
        A call whose result is float32, [..., M, N].

    Raises:
        QnnError: if a shape or dtype does not fit.
    """
    attrs = {} if order == ORDERS[0] else {"order": order}
    return float_matmul.call([lhs, rhs], **attrs)


@float_matmul.type_rule
def _type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    check_choice("order", order_of(attrs), ORDERS[:2])
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
def _reference(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    outer = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    depth, columns = rhs.shape[-2:]
    zeros = total = np.zeros((*outer, lhs.shape[-2], columns), np.float32)
    with np.errstate(all="ignore"):
        if order_of(attrs) == ORDERS[0]:
            for k in range(depth):
                total = total + lhs[..., :, k, None] * rhs[..., None, k, :]
            return total
        size = panel_of(depth, columns)
        for begin in range(0, depth, size):
            part = zeros
            for k in range(begin, min(begin + size, depth)):
                terms = (lhs[..., :, k, None], rhs[..., None, k, :], part)
                part = fused_multiply_add_float32(*np.broadcast_arrays(*terms))
            total = total + part
    return total
