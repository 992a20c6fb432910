"""ONNX Runtime's arithmetic in Relax primitives; the counterpart of qnn_ops.onnxruntime."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const
from legalize.primitives.float_arithmetic import multiply_add
from qnn_ops.attributes import dtype_range
from qnn_ops.onnxruntime import (
    moved_by,
    product_factor,
    softmax_factor,
    softmax_table,
    sum_terms,
)
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.rounded import rounded


def sum_onnxruntime(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    """Lower a sum of two tensors."""
    specs = spec_of(lhs), spec_of(rhs)
    dtypes = specs[0].dtype, specs[1].dtype
    terms = sum_terms(attrs, dtypes, (specs[0].shape, specs[1].shape))

    def own(data: relax.Expr, dtype: str) -> relax.Expr:
        moved = const(moved_by(attrs.model_dtype, dtype), "int32")
        return R.astype(R.subtract(R.astype(data, "int32"), moved), "float32")

    a, b = own(lhs, dtypes[0]), own(rhs, dtypes[1])
    if terms.swaps:
        a, b = b, a
    inner = multiply_add(builder, b, *(const(x, "float32") for x in (terms.second, terms.constant)))
    return _stored(attrs, multiply_add(builder, a, const(terms.first, "float32"), inner))


def product_onnxruntime(
    builder: relax.BlockBuilder, attrs: Attrs, products: relax.Expr
) -> relax.Expr:
    """Lower what becomes of int32 products."""
    factor = const(product_factor(attrs), "float32")
    scaled = rounded(builder.emit(R.multiply(R.astype(products, "float32"), factor)))
    zero_point = attrs.output_zero_point - moved_by(attrs.model_dtype, attrs.out_dtype)
    return _stored(attrs, R.add(scaled, const(zero_point, "float32")))


def _stored(attrs: Attrs, values: relax.Expr) -> relax.Expr:
    """Round half to even, and bound; the values include the model's zero point."""
    moved = moved_by(attrs.model_dtype, attrs.out_dtype)
    bounded = R.clip(R.round(values), attrs.out_min - moved, attrs.out_max - moved)
    return R.astype(R.add(R.astype(bounded, "int32"), const(moved, "int32")), attrs.out_dtype)


def softmax_onnxruntime(
    builder: relax.BlockBuilder, attrs: Attrs, distance: relax.Expr
) -> relax.Expr:
    """Lower a softmax along the last axis, given how far its values are below their maximum."""
    # The reference's table has the largest distance first.
    table = softmax_table(attrs.input_scale, spec_of(distance).shape[-1])[::-1].copy()
    terms = builder.emit(R.take(const(table, "float32"), distance, axis=0, mode="clip"))
    total = R.sum(terms, -1, keepdims=True)  # one after the other
    factor = const(softmax_factor(attrs.output_scale), "float64")
    products = R.multiply(R.astype(terms, "float64"), factor)
    steps = R.round(R.divide(products, R.astype(builder.emit(total), "float64")))
    low, high = dtype_range(attrs.out_dtype)
    shifted = R.add(R.astype(steps, "int32"), const(attrs.output_zero_point, "int32"))
    bounded = R.minimum(R.maximum(shifted, const(low, "int32")), const(high, "int32"))
    return R.astype(bounded, attrs.out_dtype)
