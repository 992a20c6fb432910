"""Powers with one natural number, as products."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.checks import check_dtype, check_rank
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

DTYPES = ("int32", "float32")


@operator("data", "exponent", traits=FIXED)
def natural_power(data: relax.Expr, exponent: relax.Expr) -> relax.Call:
    """Multiply each number with itself, as often as one number says.

    The bits of the exponent say how, from the second highest on: each squares what there is, and
    multiplies it with the data if it is set. Source: IntegerExponentPow of TFLite's
    kernels/internal/optimized/optimized_ops.h.

    Args:
        data: [size], int32 or float32.
        exponent: int32 [1]; what is less than 1 counts as 1.

    Returns:
        A call whose result has the data's shape and dtype. Integers wrap; of float32 each product
        ends at the largest finite number, or the lowest.

    Raises:
        QnnError: if a dtype or a shape does not fit.
    """
    return natural_power.call([data, exponent])


@natural_power.type_rule
def _type(_: Attrs, data: TensorSpec, exponent: TensorSpec) -> TensorSpec:
    check_dtype("data", data.dtype, DTYPES)
    check_rank("data", data, 1)
    check_dtype("exponent", exponent.dtype, ("int32",))
    if exponent.shape != (1,):
        raise QnnError(f"exponent must have shape (1,), got {exponent.shape}")
    return data


natural_power.overflow_rule(cannot_overflow)


@natural_power.reference
def _reference(_: Attrs, data: Array, exponent: Array) -> Array:
    result = data
    for bit in f"{max(int(exponent[0]), 1):b}"[1:]:
        result = _product(result, result)
        if bit == "1":
            result = _product(data, result)
    return result


def _product(lhs: Array, rhs: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        product: Array = lhs * rhs
    if product.dtype == np.int32:
        return product
    info = np.finfo(np.float32)
    return np.clip(product, info.min, info.max)
