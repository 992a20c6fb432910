"""A product and a sum of float32 tensors with one rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_dtype
from qnn_ops.errors import QnnError
from qnn_ops.float_epilogue import fused_multiply_add_float32
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import Channels, Traits

Array = np.ndarray[Any, Any]


@operator(
    "lhs",
    "rhs",
    "addend",
    traits=Traits(
        zero_points={},
        moved=None,
        keeps=None,
        clamps=False,
        channels=Channels.ANYWHERE,
    ),
)
def fused_multiply_add(lhs: relax.Expr, rhs: relax.Expr, addend: relax.Expr) -> relax.Call:
    """Compute lhs * rhs + addend, rounded to float32 once.

    A product that is rounded before the sum gives another number about one time in two, which
    decides how near ties are quantized. Source of the arithmetic: IEEE 754's fusedMultiplyAdd.

    Args:
        lhs: float32, any shape.
        rhs: float32, a shape that broadcasts with that of ``lhs`` as in numpy.
        addend: float32, likewise.

    Returns:
        A call whose result is float32 of the broadcast shape.

    Raises:
        QnnError: if a dtype does not fit or the shapes do not broadcast.
    """
    return fused_multiply_add.call([lhs, rhs, addend])


@fused_multiply_add.type_rule
def _type(_attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec, addend: TensorSpec) -> TensorSpec:
    for name, spec in (("lhs", lhs), ("rhs", rhs), ("addend", addend)):
        check_dtype(name, spec.dtype, ("float32",))
    try:
        shape = np.broadcast_shapes(lhs.shape, rhs.shape, addend.shape)
    except ValueError:
        raise QnnError(
            "lhs, rhs and addend must broadcast to one shape, got "
            f"{lhs.shape}, {rhs.shape} and {addend.shape}"
        ) from None
    return TensorSpec(shape, "float32")


fused_multiply_add.overflow_rule(cannot_overflow)


@fused_multiply_add.reference
def _reference(_attrs: Attrs, lhs: Array, rhs: Array, addend: Array) -> Array:
    return fused_multiply_add_float32(lhs, rhs, addend)
