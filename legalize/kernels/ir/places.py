"""Places in memory to which a kernel adds constants."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Index, kept

_ADDRESS = "qnn_address"
# Makes no instruction; LLVM knows nothing of the result.
_CODE = f"""
define linkonce_odr hidden i64 @{_ADDRESS}(i64 %place) alwaysinline {{
  %same = call i64 asm "", "=r,0"(i64 %place) #0
  ret i64 %same
}}
attributes #0 = {{ nounwind willreturn memory(none) }}
"""


def with_addresses() -> AbstractContextManager[Any]:
    """Frame what has places of ``address``."""
    frame: AbstractContextManager[Any] = T.attr(T.int32(0), "pragma_import_llvm", _CODE)
    return frame


def address(place: Index) -> Index:
    """Keep a place in a register of its own, as int64, so that constants are added by instructions.

    Where LLVM knows the last bits of a number to be 0, it makes an "or" of the addition of a small
    constant, or multiplies each sum by itself: then all places of a tile take registers, and spill.
    """
    return kept(T.call_extern("int64", _ADDRESS, T.Cast("int64", place)))
