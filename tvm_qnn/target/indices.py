"""How wide the indices of functions are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tvm
from tvm import tirx
from tvm_ffi import structural_walk

from tvm_qnn.target.processor import parts
from tvm_qnn.target.target import requirements


def wide_indices(functions: Iterable[tirx.PrimFunc], target: tvm.target.Target) -> list[str]:
    """Return the passes to leave out, so that LLVM compiles these functions right.

    TVM computes indices in 32 bits. LLVM 22 then vectorizes some loops wrongly in which an index
    is a remainder by a power of two: it takes the check that the 32 bits do not overflow for a
    check that the remainder does not wrap either, and reads on behind the wrap. Where an index has
    64 bits there is nothing else to check. Nor is there where addresses have 32 bits; indices of
    64 bits keep LLVM busy without end there.
    """
    architecture, _ = parts(requirements(target).platform)
    is_wide = "64" in architecture and any(map(_has_mask, functions))
    return ["tirx.NarrowDataType"] if is_wide else []


def _has_mask(function: tirx.PrimFunc) -> bool:
    divisors: list[Any] = []
    structural_walk(function.body, (tirx.FloorMod, lambda node: divisors.append(node.b)))
    return any(
        isinstance(divisor, tirx.IntImm) and divisor.value.bit_count() == 1 for divisor in divisors
    )
