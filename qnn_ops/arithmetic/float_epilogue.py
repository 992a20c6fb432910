"""oneDNN's scaling of the int32 sums of a convolution or dense layer, in float32.

It is the "onednn" rounding of these operators, which MXNet's quantized networks use.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.dialect.attributes import QUANTIZED
from qnn_ops.dialect.checks import check_dtype, check_quantization
from qnn_ops.dialect.expressions import Expression
from qnn_ops.dialect.registry import Attrs, TensorSpec
from qnn_ops.errors import QnnError

ONEDNN = "onednn"


def fused_multiply_add_float32(
    a: npt.ArrayLike | Expression, b: npt.ArrayLike, c: npt.ArrayLike
) -> Any:
    """Compute a · b + c in float32, rounded once, half to even.

    Args:
        a: float32, any shape: an array or an expression.
        b: float32; broadcast with ``a``.
        c: float32; broadcast with both.

    Returns:
        float32, the broadcast shape.
    """
    if isinstance(a, Expression):
        return a.apply(fused_multiply_add_float32, a, b, c)
    x, y, z = (np.asarray(value, dtype=np.float32).astype(np.float64) for value in (a, b, c))
    with np.errstate(all="ignore"):
        product = x * y  # exact: 48 of 53 bits
        total = np.asarray(product + z)
        part = total - product
        error = (product - (total - part)) + (z - part)  # exact: the sum's rounding error
        # Rounding to float32 is right if an inexact sum was rounded to odd.
        bits = total.view(np.int64)
        is_even = (bits & 1) == 0
        step = np.where((error > 0) == (total > 0), 1, -1)
        is_wrong = np.isfinite(total) & (error != 0) & is_even
        odd = np.asarray(np.where(is_wrong, bits + step, bits))
        return np.asarray(odd.view(np.float64).astype(np.float32))


def scale_in_float32(
    sums: Any,
    multiplier: npt.ArrayLike,
    addend: Any = None,
    addend_multiplier: float = 1.0,
    *,
    relu_before_addend: bool = False,
) -> Any:
    """Bring sums to the scale of the result, and add another tensor.

    Source: the post-operations of oneDNN 2.4's int8 convolution kernels, as MXNet 1.9.1 uses them
    (output scale, eltwise relu, sum): the sum is one fused multiply-add.

    Args:
        sums: float32, an array or an expression.
        multiplier: taken as float32; broadcast with ``sums``.
        addend: integers, zero point subtracted; shaped as ``sums``.
        addend_multiplier: taken as float32.
        relu_before_addend: whether negative products become zero before the sum.
    """
    with np.errstate(over="ignore"):
        result = sums * np.asarray(multiplier, dtype=np.float32)
    if relu_before_addend:
        result = np.maximum(result, np.float32(0))
    if addend is None:
        return result
    return fused_multiply_add_float32(addend, np.float32(addend_multiplier), result)


def round_to(values: Any, zero_point: int, bounds: tuple[int, int], dtype: str) -> Any:
    """Round half to even, add the zero point and clamp.

    Args:
        values: float32, any shape; no NaN.
        zero_point: added after rounding; 0 for int32.
        bounds: the clamp range.
        dtype: of the result.
    """
    if dtype == "int32":
        # The bounds make the cast defined. float32 has no 2^31 - 1: that bound follows the cast.
        whole = np.clip(np.rint(values), -(2.0**31), 2.0**31)
        return np.clip(whole.astype(np.int64), *bounds).astype(np.int32)
    # float32 has all integers of these dtypes. The bounds make the cast defined.
    low, high = (float(bound - zero_point) for bound in bounds)
    return (np.clip(np.rint(values), low, high).astype(np.int32) + zero_point).astype(dtype)


def check_addend(attrs: Attrs, addend: TensorSpec | None, result: TensorSpec) -> None:
    """Raise unless an operator can add ``addend`` to its ``result`` before it rounds.

    Args:
        attrs: the call's attributes.
        addend: the operand, or None if it is left out.
        result: the operator's result.
    """
    if addend is None:
        return
    if attrs.rounding != ONEDNN or attrs.out_dtype == "int32":
        raise QnnError(
            f"addend needs rounding {ONEDNN!r} and a result of 8 bits, got {attrs.rounding!r} "
            f"and {attrs.out_dtype}"
        )
    check_dtype("addend", addend.dtype, QUANTIZED)
    if addend.shape != result.shape:
        raise QnnError(f"addend must have the result's shape {result.shape}, got {addend.shape}")
    check_quantization("addend", attrs.addend_scale, attrs.addend_zero_point, addend.dtype)


def addend_multiplier(attrs: Attrs) -> float:
    """Compute how many steps of the result one step of the addend is."""
    return float(attrs.addend_scale / attrs.output_scale)


def float_epilogue(
    attrs: Attrs, accumulator: Any, bias: Any, multiplier: npt.ArrayLike, addend: Any = None
) -> Any:
    """Compute an operator's result from its sums.

    The bias is added in float32. Beyond 2^24 this rounds twice.

    Args:
        attrs: the call's attributes.
        accumulator: the sums without the bias: an array or an expression, like all operands.
        bias: broadcasts with the sums; or None.
        multiplier: how many steps of the result a step of the sum is; broadcasts with them; not
            used for int32 results, which are the sums.
        addend: shaped as the sums, or None.
    """
    sums = accumulator.astype(np.float32)
    if bias is not None:
        sums = sums + bias.astype(np.float32)
    bounds = (attrs.out_min, attrs.out_max)
    if attrs.out_dtype == "int32":
        return round_to(sums, 0, bounds, "int32")
    extra: dict[str, Any] = {}
    if addend is not None:
        extra["addend"] = addend.astype(np.int32) - attrs.addend_zero_point
        extra["addend_multiplier"] = addend_multiplier(attrs)
        extra["relu_before_addend"] = attrs.relu_before_addend
    scaled = scale_in_float32(sums, multiplier, **extra)
    return round_to(scaled, attrs.output_zero_point, bounds, attrs.out_dtype)
