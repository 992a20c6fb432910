"""Let the operator before an activation clamp its result."""

import tvm
from tvm import relax

from legalize.passes.rewriter import CallRewriter, call_pass
from qnn_ops import quantized_relu
from qnn_ops.arithmetic.activations import activation_range
from qnn_ops.dialect.attributes import bounds
from qnn_ops.dialect.registry import attrs_of, operator_of, spec_of, with_attrs


def FoldClamps() -> tvm.transform.Pass:
    """Fold a ``quantized_relu`` that keeps scale, zero point and dtype into the operator before it.

    Rescaling by exactly one changes nothing in gemmlowp's arithmetic, so such an activation is
    a clamp, and every operator that computes can end in one.
    """
    return call_pass({quantized_relu.op.name: _clamped}, "FoldClamps")


def _clamped(writer: CallRewriter, original: relax.Call, call: relax.Call) -> relax.Expr | None:
    relu, producer = attrs_of(call), writer.value_of(call.args[0])
    operator, dtype = operator_of(producer), spec_of(call.args[0]).dtype
    before = (relu.input_scale, relu.input_zero_point, dtype)
    if before != (relu.output_scale, relu.output_zero_point, relu.out_dtype):
        return None
    # A producer with other readers would be computed twice.
    is_only = writer.facts.uses[original.args[0]] == 1
    if operator is None or not operator.traits.clamps or not is_only:
        return None
    low, high = activation_range(relu.kind, relu.output_scale, relu.output_zero_point, dtype)
    first_low, first_high = bounds(attrs_of(producer), dtype)
    # The activation's clamp comes second, so its bounds win if the two ranges are disjoint.
    return with_attrs(
        producer, out_min=min(max(first_low, low), high), out_max=max(min(first_high, high), low)
    )
