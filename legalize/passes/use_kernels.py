"""Replace operators by the kernels of the target's instruction set."""

import tvm
from tvm import relax

from legalize.kernels.by_rows import by_rows
from legalize.kernels.kernel import has_open_size
from legalize.kernels.table import KERNELS
from legalize.passes.rewriter import CallRewriter, call_pass, first_found
from qnn_ops import quantized_svdf, quantized_svdf_state
from qnn_ops.dialect.registry import operator_of

_OF_WORDS = (quantized_svdf, quantized_svdf_state)


def UseKernels(target: tvm.target.Target) -> tvm.transform.Pass:
    """Replace each call that a kernel for ``target`` can take; leave the others as they are.

    The constants of a kernel (packed weights, folded zero points) are computed here, so weights
    must be constants: an operator whose weights are parameters is left to the primitives. So is an
    operator with only constant operands: it is computed at compile time, by any machine. Primitives
    also take tensors of int16, except for operators whose kernels support them.
    """
    serving = {
        name: [kernel for kernel in kernels if kernel.serves(target)]
        for name, kernels in KERNELS.items()
    }

    def rule(writer: CallRewriter, original: relax.Call, call: relax.Call) -> relax.Expr | None:
        is_narrow = operator_of(call) in _OF_WORDS or not _has_int16(call)
        if writer.facts.is_constant(original) or not is_narrow:
            return None
        lowers = [kernel.lower for kernel in serving[call.op.name]]
        chosen = first_found(lower(writer.builder_, call) for lower in lowers)
        if chosen is None and has_open_size(call):
            chosen = first_found(by_rows(lower, writer.builder_, call) for lower in lowers)
        return chosen

    return call_pass(dict.fromkeys(serving, rule), "UseKernels")


def _has_int16(call: relax.Call) -> bool:
    types = [call.ty, *(operand.ty for operand in call.args)]
    fields = (part for ty in types for part in getattr(ty, "fields", [ty]))
    return any(str(getattr(ty, "dtype", "")) == "int16" for ty in fields)
