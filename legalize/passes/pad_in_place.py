"""Let a convolution find its padding around its data, instead of copying the data."""

import tvm
from tvm import relax

from legalize.kernels.table import BORDERS
from legalize.passes.rewriter import CallRewriter, call_pass, first_found
from qnn_ops import quantized_conv2d
from qnn_ops.dialect.registry import attrs_of, with_attrs


def PadInPlace(target: tvm.target.Target) -> tvm.transform.Pass:
    """Let the kernels that make the data of convolutions write the padding, if they can.

    If only the convolution reads the data, the kernel of the data writes it into the middle of a
    larger tensor, with the input zero point around it. The convolution then has no padding left.
    """
    rules_for = BORDERS.serving(target)

    def rule(writer: CallRewriter, original: relax.Call, call: relax.Call) -> relax.Expr | None:
        data, facts = original.args[0], writer.facts
        # The compiling machine computes expressions of constants, without kernels.
        is_own = facts.uses[data] == 1 and data not in facts.constants
        if not is_own or not any(attrs_of(call).padding):
            return None
        producer = writer.lookup_binding(call.args[0])
        rules = rules_for(producer)
        padded = first_found(each(writer.builder_, producer, call) for each in rules)
        if padded is None:
            return None
        # The result keeps the operand's name, by which a profile identifies the operator.
        padded = writer.builder_.emit(padded, data.name)
        changed = with_attrs(call, padding=[0, 0, 0, 0])
        return relax.Call(changed.op, [padded, *call.args[1:]], changed.attrs)

    return call_pass({quantized_conv2d.op.name: rule}, "PadInPlace")
