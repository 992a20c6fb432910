"""Let TVM fuse lookups with the blocks around them."""

import tvm
from tvm import s_tir, tirx

from legalize.kernels.kernel import IS_KERNEL
from legalize.loop_functions import OPAQUE
from legalize.passes.tir_blocks import is_elementwise, tir_blocks_in

# Relax's pattern kind for functions whose output elements are elements of the input.
_INJECTIVE = 2
_PATTERN = "op_pattern"


def FuseLookups() -> tvm.transform.Pass:
    """Mark functions that look each element up (``take``) as injective.

    TVM treats every access through computed indices as opaque and fuses it with nothing. So a
    table of 256 bytes is read through a tensor of int32 indices, and a resize is seven loops
    over its output. Runs after TVM's AnnotateTIROpPattern and before FuseOps.
    """

    def rewrite(
        function: tirx.PrimFunc, _mod: tvm.IRModule, _context: tvm.transform.PassContext
    ) -> tirx.PrimFunc:
        is_opaque = function.attrs.get(_PATTERN) == OPAQUE and IS_KERNEL not in function.attrs
        if is_opaque and _is_one_elementwise_step(function):
            return function.with_attr(_PATTERN, _INJECTIVE)
        return function

    return tirx.transform.prim_func_pass(rewrite, opt_level=0, name="FuseLookups")


def _is_one_elementwise_step(function: tirx.PrimFunc) -> bool:
    if not isinstance(function.body, s_tir.SBlockRealize):
        return False
    found = tir_blocks_in(function)
    return len(found) == 1 and is_elementwise(found[0])
