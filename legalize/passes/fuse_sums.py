"""Let the kernel that makes an operand of a sum compute the sum, too."""

import tvm
from tvm import relax

from legalize.kernels.table import SUMS
from legalize.passes.rewriter import CallRewriter, call_pass, first_found
from qnn_ops import quantized_add, quantized_subtract


def FuseSums(target: tvm.target.Target) -> tvm.transform.Pass:
    """Make one kernel for ``target`` of a sum and of the operator that makes one of its operands.

    So residual connections need no separate pass over memory. A convolution rounds and clamps its
    output as usual, adds the other tensor while the output is in registers, and stores the sum.
    Nothing else may read the output. If both operands qualify, the pass takes the later one,
    because its input may still be in a cache.
    """
    rules_for = SUMS.serving(target)

    def fused(writer: CallRewriter, call: relax.Call, index: int) -> relax.Expr | None:
        producer, other = writer.lookup_binding(call.args[index]), call.args[1 - index]
        rules = rules_for(producer)
        return first_found(rule(writer.builder_, call, producer, other) for rule in rules)

    def rule(writer: CallRewriter, original: relax.Call, call: relax.Call) -> relax.Expr | None:
        facts = writer.facts
        if facts.is_constant(original):
            return None
        read_here = [
            (facts.places[operand], index)
            for index, operand in enumerate(original.args)
            if operand in facts.places and facts.uses[operand] == 1
        ]
        for _, index in sorted(read_here, reverse=True):
            if (found := fused(writer, call, index)) is not None:
                # The sum keeps the operand's name, by which a profile identifies the operator.
                return writer.builder_.emit(found, original.args[index].name)
        return None

    sums = (quantized_add, quantized_subtract)
    return call_pass(dict.fromkeys((each.op.name for each in sums), rule), "FuseSums")
