"""TIR functions as C99 that any compiler takes: no intrinsics, no runtime, nothing undefined.

Expressions have the value that TIR gives them. C computes with small integers as int, so a sum of
int8 is converted back to int8. A shift to the left is one of unsigned numbers, as C does not define
it for negative ones. Every conversion is written out.
"""

from __future__ import annotations

from collections.abc import Mapping

import tvm
from tvm import tirx

from tvm_qnn.standalone.c99.function import REALS, Function
from tvm_qnn.standalone.c99.numbers import c_array, c_number, c_type
from tvm_qnn.standalone.c99.source import Source


def write_functions(
    prefix: str, functions: Mapping[str, tirx.PrimFunc], notes: Mapping[str, str]
) -> Source:
    """Write functions in C.

    Args:
        prefix: what the names of helpers begin with.
        functions: lowered, whose parameters are pointers and numbers.
        notes: what each computes, by the same names.

    Raises:
        QnnError: a function does what C99 has no word for, as float16.
    """
    # LowerIntrin writes floor divisions and functions of reals as those of C.
    target = tvm.target.Target("c")
    mod = tvm.IRModule({name: each.with_attr("target", target) for name, each in functions.items()})
    mod = tirx.transform.LowerIntrin()(mod)
    source = Source(prefix)
    source.texts += [Function(source, mod[name]).text(notes[name]) for name in functions]
    return source


__all__ = ["REALS", "Source", "c_array", "c_number", "c_type", "write_functions"]
