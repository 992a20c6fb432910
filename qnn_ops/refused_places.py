"""The error of a place that a tensor has not, which compiled code raises; needs no compiler."""

from __future__ import annotations

from typing import NoReturn

import tvm_ffi

from qnn_ops.errors import QnnError

REFUSE_PLACE = "tvm_qnn.refuse_place"
"""The function's name among those that code calls: of what takes the place, it, and the size."""


def refuse_place(source: str, place: int, size: int) -> NoReturn:
    """Raise a QnnError that names a place, what takes it, and how many there are."""
    raise QnnError(f"{source}: index {place} is beyond the {size} that there are")


tvm_ffi.register_global_func(REFUSE_PLACE, refuse_place, override=True)
