"""Kernels that also add a tensor, write to a part of one, write a border, or scale sums."""

from dataclasses import replace
from functools import partial

import numpy as np
from tvm import relax

from legalize.kernels.border import border_for
from legalize.kernels.call import shares_code
from legalize.kernels.conv2d.calls import Scaling
from legalize.kernels.conv2d.spec import Fusion, OutputStage, Residual
from legalize.kernels.conv2d.x86.rules import CONV_ISAS, rules_of
from legalize.kernels.elementwise.add import sum_form
from legalize.kernels.isa.base import AffineForm
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.kernel import Builder, Lowered, Slice
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.float_epilogue import ONEDNN
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime
from qnn_ops.arithmetic.xnnpack import is_xnnpack
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import attrs_of, operator_of, spec_of
from qnn_ops.dialect.sizes import is_open

# Lanes of vectors with fused multiply-adds.
_LEAST_FUSED = 8


def _sum(
    builder: Builder, call: relax.Call, producer: relax.Call, other: relax.Expr, *, isa: Isa
) -> Lowered:
    attrs = attrs_of(producer)
    data, weights, *rest = producer.args
    # A kernel with rounding "onednn" adds its tensor before rounding, and none after it.
    if attrs.rounding == ONEDNN or spec_of(other).shape != spec_of(producer).shape:
        return None
    if is_xnnpack(attrs_of(call)):
        return None
    if is_onnxruntime(attrs_of(call)) != (attrs.rounding == "float32"):
        return None
    residual = _residual(call, other, isa)
    if residual is None:
        return None
    no_bias = relax.const(np.zeros(spec_of(producer).shape[-1], np.int32))
    operands = [data, weights, *(rest or [no_bias]), other]
    fusion = Fusion(residual=residual, is_shared=shares_code(builder, data))
    return rules_of(isa).conv2d(builder, attrs, operands, fusion=fusion)


def _residual(call: relax.Call, other: relax.Expr, isa: Isa) -> Residual | None:
    """Return the sum in terms of the producer's output; None if it has no exact form."""
    operator, attrs = operator_of(call), attrs_of(call)
    assert operator is not None
    lhs, rhs = (spec_of(operand) for operand in call.args)
    form = sum_form(operator, attrs, lhs, rhs, fuses=isa.lanes >= _LEAST_FUSED)
    if isinstance(form, AffineForm):
        # The form counts from the lowest values of the dtypes.
        lowest = [dtype_range(spec.dtype)[0] for spec in (lhs, rhs)]
        moved = form.lhs * lowest[0] + form.rhs * lowest[1]
        form = replace(form, addend=form.addend - moved)
    if form is not None and not other.same_as(call.args[1]):
        form = form.swapped
    return None if form is None else Residual(spec_of(other).dtype, form, OutputStage.of(attrs))


def _part(
    builder: Builder, call: relax.Call, part: Slice, into: relax.Expr | None, *, isa: Isa
) -> Lowered:
    attrs = attrs_of(call)
    if attrs.rounding == ONEDNN:
        return None
    fusion = Fusion(part=part, is_shared=shares_code(builder, call.args[0]))
    return rules_of(isa).conv2d(builder, attrs, list(call.args), fusion=fusion, into=into)


def with_border(builder: Builder, call: relax.Call, reader: relax.Call, *, isa: Isa) -> Lowered:
    """Return a convolution whose output has a border; see ``table.BORDERS`` for the arguments."""
    attrs, border = attrs_of(call), border_for(call, reader)
    if border is None or attrs.rounding == ONEDNN:
        return None
    fusion = Fusion(border=border, is_shared=shares_code(builder, call.args[0]))
    return rules_of(isa).conv2d(builder, attrs, list(call.args), fusion=fusion)


def _scaled(builder: Builder, call: relax.Call, scaling: Scaling, *, isa: Isa) -> Lowered:
    if is_open(spec_of(scaling.encoding).shape):
        return None
    return rules_of(isa).dense(builder, attrs_of(call), list(call.args), scaling=scaling)


SUMS = [(quantized_conv2d, isa.features, partial(_sum, isa=isa)) for isa in CONV_ISAS]
PARTS = [(quantized_conv2d, isa.features, partial(_part, isa=isa)) for isa in CONV_ISAS]
SCALED = [(quantized_dense, isa.features, partial(_scaled, isa=isa)) for isa in CONV_ISAS]
BORDERS = [
    (quantized_conv2d, isa.features, partial(with_border, isa=isa))
    for isa in CONV_ISAS
    # Without byte products, staging mostly widens data when it pads it.
    if isa.has_byte_products
]
