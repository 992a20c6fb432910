"""Products of float32 matrices and of quantized ones. No matrix needs to be constant."""

from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.fixed_point import conv_multiplier
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.arithmetic.rounding import check_multiplier, scale_result
from qnn_ops.arrays import Array, Float64Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import QUANTIZED
from qnn_ops.dialect.checks import check_dtype, check_quantization
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.sizes import broadcast
from qnn_ops.dialect.traits import FIXED, OF_BOTH, Channels, rescaling
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.float_conv2d import ORDERS, panel_of


@operator(traits=FIXED, overflows=False)
def float_matmul(
    lhs: declared.Floats,
    rhs: declared.Floats,
    order: Annotated[str, declared.choice(*ORDERS[:2], implied=True)] = "tflite",
) -> None:
    """Multiply float32 matrices.

    Products are added to 0 one by one, in the order of the depth. Each product and each sum is
    rounded. Source of the arithmetic: BATCH_MATMUL of LiteRT's reference kernels, as its builds for
    x86 compute it.

    With order "onnxruntime" a product and its sum have one rounding. Each ``panel_of`` products
    have a sum of their own, and these sums are added one by one. Without a fused multiply-add in
    the processor, or without a kernel, the order is TVM's. Source: MLAS of ONNX Runtime with one
    thread, core/mlas/lib/sgemm.cpp, for matrices that are not constant and have several rows and
    columns.

    Args:
        lhs: float32, [..., M, K].
        rhs: float32, [..., K, N]; the leading axes broadcast with those of lhs.
        order: "tflite" or "onnxruntime".

    Returns:
        A call whose result is float32, [..., M, N].
    """


@float_matmul.type_rule
def _float_matmul_type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    for name, spec in (("lhs", lhs), ("rhs", rhs)):
        if len(spec.shape) < 2:
            raise QnnError(f"{name} must have at least 2 dimensions, got shape {spec.shape}")
    try:
        outer = broadcast(lhs.shape[:-2], rhs.shape[:-2])
    except ValueError:
        outer = None
    if outer is None or lhs.shape[-1] != rhs.shape[-2]:
        raise QnnError(f"matrices of shapes {lhs.shape} and {rhs.shape} have no product")
    return TensorSpec((*outer, lhs.shape[-2], rhs.shape[-1]), "float32")


@float_matmul.reference
def _float_matmul_reference(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    outer = broadcast(lhs.shape[:-2], rhs.shape[:-2])
    depth, columns = rhs.shape[-2:]
    zeros = total = np.zeros((*outer, lhs.shape[-2], columns), np.float32)
    with np.errstate(all="ignore"):
        if attrs.order == ORDERS[0]:
            for k in range(depth):
                total = total + lhs[..., :, k, None] * rhs[..., None, k, :]
            return total
        size = panel_of(columns)
        for begin in range(0, depth, size):
            part = zeros
            for k in range(begin, min(begin + size, depth)):
                terms = (lhs[..., :, k, None], rhs[..., None, k, :], part)
                part = fused_multiply_add_float32(*np.broadcast_arrays(*terms))
            total = total + part
    return total


ROUNDINGS = ("tflite", "float32")


# int32 sums wrap, so their bounds are unknown.
@operator(traits=rescaling(OF_BOTH, Channels.LAST, clamps=False), overflows=False)
def quantized_matmul(
    lhs: relax.Expr,
    rhs: relax.Expr,
    lhs_scale: declared.LhsScale,
    lhs_zero_point: declared.LhsZeroPoint,
    rhs_scale: declared.RhsScale,
    rhs_zero_point: declared.RhsZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    *,
    transpose_rhs: declared.Flag = False,
    rounding: Annotated[str, declared.choice(*ROUNDINGS, implied=True)] = "tflite",
) -> None:
    """Multiply quantized matrices.

    The integer sum Σ(lhs - lhs_zero_point)(rhs - rhs_zero_point), in int32 (wrapping), is
    multiplied by the float32 product of both scales, divided by output_scale, and rounded as
    gemmlowp does (qnn_ops.arithmetic.rounding, "tflite"); the zero point is added and the result
    clamped.

    Source of the arithmetic: LiteRT's reference BATCH_MATMUL. Rounding "float32" is that of ONNX
    Runtime's QLinearMatMul: product and quotient of the scales are float32. So is the product with
    the sum, which is rounded half to even.

    Args:
        lhs: int8 or uint8, [..., M, K].
        rhs: int8 or uint8, [..., K, N]; the leading axes broadcast with those of lhs.
        lhs_zero_point: its value that means 0.
        rhs_zero_point: its value that means 0.
        out_dtype: int8 or uint8.
        transpose_rhs: whether rhs is [..., N, K].
        rounding: "tflite" or "float32", see qnn_ops.arithmetic.rounding.

    Returns:
        A call whose result is [..., M, N] of ``out_dtype``.
    """


def matmul_multiplier(attrs: Attrs) -> Float64Array:
    """Return how many steps of the result one step of the sums is."""
    # The product of the scales is rounded to float32, as in a convolution of uint8.
    scales = attrs.lhs_scale, attrs.rhs_scale, attrs.output_scale
    return conv_multiplier(*scales, "uint8", attrs.rounding)


@quantized_matmul.type_rule
def _quantized_matmul_type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    for name, spec in (("lhs", lhs), ("rhs", rhs)):
        check_dtype(name, spec.dtype, QUANTIZED)
        if len(spec.shape) < 2:
            raise QnnError(f"{name} must have at least 2 dimensions, got {spec.shape}")
    check_dtype("out_dtype", attrs.out_dtype, QUANTIZED)
    columns, inner = rhs.shape[-2:] if attrs.transpose_rhs else reversed(rhs.shape[-2:])
    try:
        batches = broadcast(lhs.shape[:-2], rhs.shape[:-2])
    except ValueError:
        batches = None
    if lhs.shape[-1] != inner or batches is None:
        raise QnnError(f"operands of shapes {lhs.shape} and {rhs.shape} have no product")
    check_quantization("lhs", attrs.lhs_scale, attrs.lhs_zero_point, lhs.dtype)
    check_quantization("rhs", attrs.rhs_scale, attrs.rhs_zero_point, rhs.dtype)
    check_quantization("output", attrs.output_scale, attrs.output_zero_point, attrs.out_dtype)
    check_multiplier(matmul_multiplier(attrs), attrs.rounding)
    return TensorSpec((*batches, lhs.shape[-2], columns), attrs.out_dtype)


@quantized_matmul.reference
def _quantized_matmul_reference(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    left = lhs.astype(np.int64) - attrs.lhs_zero_point
    right = rhs.astype(np.int64) - attrs.rhs_zero_point
    sums = left @ (right.swapaxes(-1, -2) if attrs.transpose_rhs else right)
    return scale_result(attrs, sums.astype(np.int32), matmul_multiplier(attrs), attrs.rounding)
