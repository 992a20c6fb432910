"""Places along an axis, counted from the first one, which must be there."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_dtype
from qnn_ops.errors import QnnError
from qnn_ops.refused_places import refuse_place
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

DTYPES = ("int8", "uint8", "int16", "int32", "int64")


@operator("places", traits=FIXED)
def counted_places(
    places: relax.Expr, size: int, source: str, from_end: bool = False
) -> relax.Call:
    """Check places when the model runs, and count negative ones from the end.

    A place that is not there ends the run with a QnnError that names the source and the place.
    Code that was exported as C has no errors: there such a place is the nearest one.

    Args:
        places: int8, uint8, int16, int32 or int64, any shape.
        size: how many places there are.
        source: what takes what stands there, for the error.
        from_end: whether -1 is the last place, and so on; else negative ones are not there.

    Returns:
        A call whose result has the places' shape and dtype, from 0 to ``size`` - 1.

    Raises:
        QnnError: if the dtype does not fit, or there are no places.
    """
    return counted_places.call([places], size=size, source=source, from_end=from_end)


@counted_places.type_rule
def _type(attrs: Attrs, places: TensorSpec) -> TensorSpec:
    check_dtype("places", places.dtype, DTYPES)
    if attrs.size < 1:
        raise QnnError(f"size must be at least 1, got {attrs.size}")
    return places


counted_places.overflow_rule(cannot_overflow)


@counted_places.reference
def _reference(attrs: Attrs, places: Array) -> Array:
    wide = places.astype(np.int64)
    wrong = wide[(wide >= attrs.size) | (wide < (-attrs.size if attrs.from_end else 0))]
    if wrong.size:
        refuse_place(attrs.source, int(wrong[0]), attrs.size)
    return np.where(wide < 0, wide + attrs.size, wide).astype(places.dtype)
