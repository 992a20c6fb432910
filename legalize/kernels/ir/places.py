"""Numbers whose values are hidden from LLVM."""

from contextlib import AbstractContextManager
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Index, extern, kept

_ADDRESS = "qnn_address"
_NUMBER = "qnn_number"
# They emit no instruction; LLVM knows nothing about their results.
_CODE = f"""
define linkonce_odr hidden i64 @{_ADDRESS}(i64 %place) alwaysinline {{
  %same = call i64 asm "", "=r,0"(i64 %place) #0
  ret i64 %same
}}
define linkonce_odr hidden i32 @{_NUMBER}(i32 %number) alwaysinline {{
  %same = call i32 asm "", "=r,0"(i32 %number) #0
  ret i32 %same
}}
attributes #0 = {{ nounwind willreturn memory(none) }}
"""


def with_addresses() -> AbstractContextManager[Any]:
    """Open the part of a function that may call ``address`` and ``rolled``."""
    frame: AbstractContextManager[Any] = T.attr(T.int32(0), "pragma_import_llvm", _CODE)
    return frame


def address(place: Index) -> Index:
    """Keep an offset in its own register, as int64, so that instructions add constants to it.

    If LLVM knows that the last bits of a number are 0, it turns the addition of a small constant
    into an "or", or multiplies each sum by itself. Then all offsets of a tile take registers, and
    spill.
    """
    return kept(extern("int64", _ADDRESS, T.Cast("int64", place)))


def rolled(number: Index) -> Index:
    """Return a number, int32, that LLVM does not know.

    As the extent of a loop, it lets LLVM unroll the loop only in part. In the body of a loop it
    keeps LLVM from unrolling, as an ``address`` does. Unrolled loops take long to compile, and
    loops over wide rows or over a window's few pixels gain nothing from that.
    """
    number = T.int32(number) if isinstance(number, int) else number
    return kept(extern("int32", _NUMBER, number))
