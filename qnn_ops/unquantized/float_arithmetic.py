"""Arithmetic of float32 that Relax lacks: fused multiply-add, natural powers, bits."""

from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.sizes import broadcast
from qnn_ops.dialect.traits import FIXED, Channels, fixed
from qnn_ops.errors import QnnError


@operator(traits=fixed(Channels.ANYWHERE), overflows=False)
def fused_multiply_add(lhs: declared.Floats, rhs: declared.Floats, addend: declared.Floats) -> None:
    """Compute lhs * rhs + addend, rounded to float32 once.

    If the product is rounded first, about every second result differs. This decides how values near
    ties are quantized. Source of the arithmetic: IEEE 754's fusedMultiplyAdd.

    Args:
        lhs: float32, any shape.
        rhs: float32, a shape that broadcasts with that of ``lhs`` as in numpy.
        addend: float32, a shape that broadcasts with both as in numpy.

    Returns:
        A call whose result is float32 of the broadcast shape.
    """


@fused_multiply_add.type_rule
def _fused_multiply_add_type(
    _attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec, addend: TensorSpec
) -> TensorSpec:
    try:
        shape = broadcast(lhs.shape, rhs.shape, addend.shape)
    except ValueError:
        raise QnnError(
            "lhs, rhs and addend must broadcast to one shape, got "
            f"{lhs.shape}, {rhs.shape} and {addend.shape}"
        ) from None
    return TensorSpec(shape, "float32")


@fused_multiply_add.reference
def _fused_multiply_add_reference(_attrs: Attrs, lhs: Array, rhs: Array, addend: Array) -> Array:
    return fused_multiply_add_float32(lhs, rhs, addend)


DTYPES = ("int32", "float32")


@operator(traits=FIXED, overflows=False)
def natural_power(
    data: Annotated[relax.Expr, declared.Tensor(DTYPES, 1)], exponent: declared.Int32
) -> None:
    """Raise each number to a natural power by repeated multiplication.

    The bits of the exponent are read from the second highest on. For each bit the result is
    squared, and multiplied by the data if the bit is set. Source: IntegerExponentPow of TFLite's
    kernels/internal/optimized/optimized_ops.h.

    Args:
        data: [size], int32 or float32.
        exponent: int32 [1]; a number less than 1 counts as 1.

    Returns:
        A call whose result has the data's shape and dtype. Integers wrap; each float32 product is
        clamped to the finite numbers.
    """


@natural_power.type_rule
def _natural_power_type(_: Attrs, data: TensorSpec, exponent: TensorSpec) -> TensorSpec:
    if exponent.shape != (1,):
        raise QnnError(f"exponent must have shape (1,), got {exponent.shape}")
    return data


@natural_power.reference
def _natural_power_reference(_: Attrs, data: Array, exponent: Array) -> Array:
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


OTHER = {"float32": "int32", "int32": "float32"}
"""The dtype as which the bits of another are read."""


@operator(traits=FIXED, overflows=False)
def reinterpret(data: Annotated[relax.Expr, declared.Tensor(DTYPES, 1)]) -> None:
    """Read the bits of numbers as another dtype.

    Args:
        data: [size], float32 or int32.

    Returns:
        A call whose result has the data's shape, of int32 or float32.
    """


@reinterpret.type_rule
def _reinterpret_type(_: Attrs, data: TensorSpec) -> TensorSpec:
    return TensorSpec(data.shape, OTHER[data.dtype])


@reinterpret.reference
def _reinterpret_reference(_: Attrs, data: Array) -> Array:
    return data.view(OTHER[data.dtype.name])
