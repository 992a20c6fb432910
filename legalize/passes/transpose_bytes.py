"""Let kernels transpose bytes."""

import tvm
from tvm import relax

from legalize.kernels.call import call_written
from legalize.kernels.isa.vectors import vectors_for
from legalize.kernels.transpose import is_served, transpose
from legalize.passes.channels_last_rules import static_shape
from legalize.passes.rewriter import CallRewriter, call_pass
from qnn_ops.dialect.attributes import QUANTIZED
from qnn_ops.dialect.registry import constant_of, spec_of


def TransposeBytes(target: tvm.target.Target) -> tvm.transform.Pass:
    """Replace Relax's ``permute_dims`` of bytes by a kernel, if it serves.

    TVM's own loops divide to find each byte.

    Args:
        target: without vectors, nothing is replaced.
    """
    vectors = vectors_for(target)

    def rule(writer: CallRewriter, original: relax.Call, call: relax.Call) -> relax.Expr | None:
        data = call.args[0]
        is_constant = original.args[0] in writer.facts.constants or constant_of(data) is not None
        if is_constant or static_shape(data) is None:
            return None
        spec, axes = spec_of(data), call.attrs.axes
        rank = len(spec.shape)
        order = tuple(int(axis) % rank for axis in axes or range(-1, -rank - 1, -1))
        if spec.dtype not in QUANTIZED or not is_served(spec.shape, order):
            return None
        function = transpose(vectors[0].size, spec.shape, order, spec.dtype)
        return call_written(writer.builder_, function, [data])

    return call_pass({"relax.permute_dims": rule} if vectors else {}, "TransposeBytes")
