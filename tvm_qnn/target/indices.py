"""Decides how wide the indices of functions are."""

from collections.abc import Iterable

import tvm
from tvm import tirx

from legalize.loop_functions import nodes_in
from tvm_qnn.target.processor import parts
from tvm_qnn.target.target import requirements


def wide_indices(functions: Iterable[tirx.PrimFunc], target: tvm.target.Target) -> list[str]:
    """Return the passes to leave out, so that LLVM compiles these functions correctly.

    TVM computes indices in 32 bits. If an index is a remainder by a power of two, LLVM 22
    vectorizes some loops wrongly: it mistakes the check that 32 bits do not overflow for a check
    that the remainder does not wrap, and reads on behind the wrap. With indices of 64 bits there is
    no such check. Nor is there one if addresses have 32 bits; there indices of 64 bits would keep
    LLVM busy without end.
    """
    if not any(map(_has_mask, functions)):
        return []
    architecture, _ = parts(requirements(target).platform)
    return ["tirx.NarrowDataType"] if "64" in architecture else []


def _has_mask(function: tirx.PrimFunc) -> bool:
    divisors = (each.b for each in nodes_in(function.body, tirx.FloorMod))
    return any(isinstance(each, tirx.IntImm) and each.value.bit_count() == 1 for each in divisors)
