"""The softmaxes that the kernel serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax

from legalize.kernels.call import call_tir
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import VectorRule
from legalize.kernels.softmax.kernel import softmax
from qnn_ops import quantized_softmax
from qnn_ops.onnxruntime import is_onnxruntime
from qnn_ops.registry import Attrs, Operator, spec_of
from qnn_ops.softmax_arithmetic import exp_table, sum_term


def _softmax(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    *,
    isa: VectorIsa,
) -> relax.Expr | None:
    spec = spec_of(operands[0])
    if is_onnxruntime(attrs) or attrs.axis % len(spec.shape) != len(spec.shape) - 1:
        return None
    table = exp_table(attrs.input_scale, attrs.beta)
    constants = [relax.const(array, "int32") for array in (table, sum_term(table))]
    function = softmax(isa, spec.shape, spec.dtype, attrs.out_dtype, attrs.output_zero_point)
    operands = [operands[0], *constants]
    return call_tir(builder, "softmax", function, operands, spec.shape, attrs.out_dtype)


RULES: tuple[tuple[Operator[Any], VectorRule], ...] = ((quantized_softmax, _softmax),)
