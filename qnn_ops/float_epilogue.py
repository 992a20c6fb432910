"""oneDNN's scaling, in float32, of the int32 sums of a convolution or dense layer.

It is the "onednn" rounding of these operators, which MXNet's quantized networks use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import clamp_to, int32_values
from qnn_ops.checks import QUANTIZED, check_dtype, check_quantization
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec

ONEDNN = "onednn"

Array = np.ndarray[Any, Any]
Float32Array = npt.NDArray[np.float32]


def fused_multiply_add_float32(
    a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike
) -> Float32Array:
    """Compute a · b + c in float32, rounded once, half to even.

    Args:
        a: float32, any shape.
        b: float32; broadcast with ``a``.
        c: float32; broadcast with both.

    Returns:
        float32, the broadcast shape.
    """
    x, y, z = (np.asarray(value, dtype=np.float32).astype(np.float64) for value in (a, b, c))
    with np.errstate(all="ignore"):
        product = x * y  # exact: 48 of 53 bits
        total = np.asarray(product + z)
        part = total - product
        error = (product - (total - part)) + (z - part)  # exact: what the sum was rounded by
        # Rounding to float32 is right if the sum, where it is not exact, was rounded to odd.
        bits = total.view(np.int64)
        is_even = (bits & 1) == 0
        step = np.where((error > 0) == (total > 0), 1, -1)
        is_wrong = np.isfinite(total) & (error != 0) & is_even
        odd = np.asarray(np.where(is_wrong, bits + step, bits))
        return np.asarray(odd.view(np.float64).astype(np.float32))


def float_sums(accumulator: npt.ArrayLike, bias: npt.ArrayLike | None) -> Float32Array:
    """Convert sums to float32 and add the bias there: two roundings beyond 2^24.

    Args:
        accumulator: integers within int32, any shape.
        bias: integers within int32 that broadcast with it, or None.
    """
    sums = int32_values("accumulator", accumulator).astype(np.float32)
    return sums if bias is None else sums + int32_values("bias", bias).astype(np.float32)


def scale_in_float32(
    sums: Float32Array,
    multiplier: npt.ArrayLike,
    addend: npt.ArrayLike | None = None,
    addend_multiplier: float = 1.0,
    *,
    relu_before_addend: bool = False,
) -> Float32Array:
    """Bring sums to the scale of the result, and add another tensor.

    Source: the post-operations of oneDNN 2.4's int8 convolution kernels, as MXNet 1.9.1 uses them
    (output scale, eltwise relu, sum): the sum is one fused multiply-add.

    Args:
        sums: from ``float_sums``.
        multiplier: rounded to float32; broadcast with ``sums``.
        addend: integers, zero point subtracted; shaped as ``sums``.
        addend_multiplier: rounded to float32.
        relu_before_addend: whether negative products become zero before the sum.
    """
    with np.errstate(over="ignore"):
        result = sums * np.asarray(multiplier, dtype=np.float32)
    if relu_before_addend:
        result = np.maximum(result, np.float32(0))
    if addend is None:
        return result
    return fused_multiply_add_float32(addend, np.float32(addend_multiplier), result)


def round_to(
    values: Float32Array, zero_point: int, bounds: tuple[int, int], dtype: str
) -> npt.NDArray[Any]:
    """Round half to even, add the zero point and clamp.

    Args:
        values: float32, any shape; no NaN.
        zero_point: added after rounding.
        bounds: the clamp range.
        dtype: of the result.
    """
    # Far outside every dtype, yet an exact int64.
    whole = np.clip(np.rint(values).astype(np.float64), -(2.0**40), 2.0**40).astype(np.int64)
    return clamp_to(whole + zero_point, dtype, *bounds)


def check_addend(attrs: Attrs, addend: TensorSpec | None, result: TensorSpec) -> None:
    """Raise unless an operator can add ``addend`` to its ``result`` before it rounds.

    Args:
        attrs: of the call.
        addend: the operand, or None if it is left out.
        result: what the operator gives.
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
    """Compute the result's steps of one step of the addend."""
    return float(attrs.addend_scale / attrs.output_scale)


def float_epilogue_reference(
    attrs: Attrs,
    accumulator: Array,
    bias: Array | None,
    multiplier: npt.ArrayLike,
    addend: Array | None = None,
) -> Array:
    """Compute an operator's result from its sums.

    Args:
        attrs: of the call.
        accumulator: the sums, channels last, without the bias.
        bias: one per channel.
        multiplier: how many steps of the result a step of the sum is, or one per channel; not
            used for int32 results, which are the sums.
        addend: shaped as the sums.
    """
    sums = float_sums(accumulator, bias)
    bounds = (attrs.out_min, attrs.out_max)
    if attrs.out_dtype == "int32":
        return round_to(sums, 0, bounds, "int32")
    extra: dict[str, Any] = {}
    if addend is not None:
        extra["addend"] = addend.astype(np.int64) - attrs.addend_zero_point
        extra["addend_multiplier"] = addend_multiplier(attrs)
        extra["relu_before_addend"] = attrs.relu_before_addend
    scaled = scale_in_float32(sums, multiplier, **extra)
    return round_to(scaled, attrs.output_zero_point, bounds, attrs.out_dtype)
