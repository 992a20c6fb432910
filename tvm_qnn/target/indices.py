"""How wide the indices of functions are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvm import tirx
from tvm_ffi import structural_walk


def wide_indices(functions: Iterable[tirx.PrimFunc]) -> list[str]:
    """Return the passes to leave out, so that LLVM compiles these functions right.

    TVM computes indices in 32 bits. LLVM 22 then vectorizes some loops wrongly in which an index
    is a remainder by a power of two: it takes the check that the 32 bits do not overflow for a
    check that the remainder does not wrap either, and reads on behind the wrap. Where an index has
    64 bits there is nothing else to check.
    """
    return ["tirx.NarrowDataType"] if any(map(_has_mask, functions)) else []


def _has_mask(function: tirx.PrimFunc) -> bool:
    divisors: list[Any] = []
    structural_walk(function.body, (tirx.FloorMod, lambda node: divisors.append(node.b)))
    return any(
        isinstance(divisor, tirx.IntImm) and divisor.value.bit_count() == 1 for divisor in divisors
    )
