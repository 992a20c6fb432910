"""The bits of float32 as an int32, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_dtype, check_rank
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

OTHER = {"float32": "int32", "int32": "float32"}
"""As what the bits of a dtype are read."""


@operator("data", traits=FIXED)
def reinterpret(data: relax.Expr) -> relax.Call:
    """Read the bits of numbers as others'.

    Args:
        data: [size], float32 or int32.

    Returns:
        A call whose result has the data's shape, of int32 or float32.

    Raises:
        QnnError: if the dtype or the shape does not fit.
    """
    return reinterpret.call([data])


@reinterpret.type_rule
def _type(_: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("data", data.dtype, tuple(OTHER))
    check_rank("data", data, 1)
    return TensorSpec(data.shape, OTHER[data.dtype])


reinterpret.overflow_rule(cannot_overflow)


@reinterpret.reference
def _reference(_: Attrs, data: Array) -> Array:
    return data.view(OTHER[data.dtype.name])
