"""A loop: a function that runs on its own results as long as a condition holds."""

from collections.abc import Sequence

import tvm
from tvm import relax

_NAME = "relax.qnn.loop"


def _infer_type(call: relax.Call, _builder: relax.BlockBuilder) -> relax.Type:
    return call.args[1].ty.ret


tvm.ir.register_op_attr(_NAME, "FInferType", _infer_type)
tvm.ir.register_op_attr(_NAME, "FPurity", True)

LOOP = tvm.ir.Op.get(_NAME)
"""The operator. It takes two functions of the module and the tensors of the first iteration."""


def loop(
    condition: tvm.ir.GlobalVar, body: tvm.ir.GlobalVar, carried: Sequence[relax.Expr]
) -> relax.Call:
    """Run a function on tensors, then on its own results, while a condition on them holds.

    Args:
        condition: a function of the tensors, which returns one bool.
        body: a function of the tensors, which returns a tuple of new ones of the same types.
        carried: the tensors that the first iteration reads.

    Returns:
        A tuple: the results of the last iteration, or the tensors themselves if there was none.
    """
    return relax.Call(LOOP, [condition, body, *carried])
