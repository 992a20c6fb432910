"""Writes TIR functions as C99 for any compiler: no intrinsics, no runtime, nothing undefined.

Expressions have the same value as in TIR. C computes with small integers as int, so a sum of int8
is converted back to int8. A left shift is done on unsigned numbers: C does not define it for
negative ones. Every conversion is explicit.
"""

from collections.abc import Mapping

import tvm
from tvm import tirx

from tvm_qnn.standalone.c99.function import Function
from tvm_qnn.standalone.c99.source import Source


def write_functions(
    prefix: str, functions: Mapping[str, tirx.PrimFunc], notes: Mapping[str, str]
) -> Source:
    """Write functions in C.

    Args:
        prefix: the beginning of the helpers' names.
        functions: lowered functions, whose parameters are pointers and numbers.
        notes: the comment above each function, by the same names.

    Raises:
        QnnError: a function needs something that C99 lacks, such as float16.
    """
    # LowerIntrin turns floor divisions and functions of reals into those of C.
    target = tvm.target.Target("c")
    mod = tvm.IRModule({name: each.with_attr("target", target) for name, each in functions.items()})
    mod = tirx.transform.LowerIntrin()(mod)
    source = Source(prefix)
    source.texts += [Function(source, mod[name]).text(notes[name]) for name in functions]
    return source
