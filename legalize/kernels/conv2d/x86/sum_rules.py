"""Which sums of a convolution's output and another tensor its kernel computes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from tvm import relax

from legalize.kernels.conv2d.spec import Fusion, OutputStage, Residual
from legalize.kernels.conv2d.x86.rules import rules_of
from legalize.kernels.elementwise.affine import affine_form
from legalize.kernels.fusions import SUMS
from legalize.kernels.isa.x86 import AMX, ISAS, Isa
from qnn_ops import quantized_add, quantized_conv2d, quantized_subtract
from qnn_ops.attributes import dtype_range
from qnn_ops.float_stage import ROUNDING
from qnn_ops.registry import attrs_of, operator_of, spec_of


def _sum(
    builder: relax.BlockBuilder,
    call: relax.Call,
    producer: relax.Call,
    other: relax.Expr,
    *,
    isa: Isa,
) -> relax.Expr | None:
    attrs = attrs_of(producer)
    data, weights, *rest = producer.args
    # What "onednn" adds comes before its rounding; such a kernel adds nothing afterwards.
    if attrs.rounding == ROUNDING or spec_of(other).shape != spec_of(producer).shape:
        return None
    residual = _residual(call, producer, other)
    if residual is None:
        return None
    no_bias = relax.const(np.zeros(spec_of(producer).shape[-1], np.int32))
    operands = [data, weights, *(rest or [no_bias]), other]
    return rules_of(isa).conv2d(builder, attrs, operands, fusion=Fusion(residual=residual))


def _residual(call: relax.Call, producer: relax.Call, other: relax.Expr) -> Residual | None:
    """The sum in terms of the producer's output; None where it has no exact affine form."""
    operator, attrs = operator_of(call), attrs_of(call)
    assert operator in (quantized_add, quantized_subtract)
    dtypes = spec_of(call.args[0]).dtype, spec_of(call.args[1]).dtype
    form = affine_form(operator, attrs, dtypes, 1 if operator is quantized_add else -1)
    if form is None:
        return None
    # The form counts from the lowest values of the dtypes.
    lowest = [dtype_range(dtype)[0] for dtype in dtypes]
    moved = form.lhs * lowest[0] + form.rhs * lowest[1]
    own, other_factor = form.lhs, form.rhs
    if not other.same_as(call.args[1]):
        own, other_factor = other_factor, own
    return Residual(
        dtype=spec_of(other).dtype,
        form=replace(form, lhs=own, rhs=other_factor, addend=form.addend - moved),
        output=OutputStage(attrs.out_dtype, attrs.output_zero_point, attrs.out_min, attrs.out_max),
    )


for _isa in (AMX, *ISAS):
    SUMS.register(quantized_conv2d, *_isa.features)(partial(_sum, isa=_isa))
