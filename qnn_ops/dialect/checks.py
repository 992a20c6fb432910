"""The checks of type rules. Their errors say what is wrong, what was given and what is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arrays import Float32Array, Int64Array
from qnn_ops.dialect.attributes import ACTIVATIONS, LITERT, QUANTIZED, dtype_range

# Declarations need these three; other modules import all checks from here.
from qnn_ops.dialect.attributes import check_choice as check_choice
from qnn_ops.dialect.attributes import check_dtype as check_dtype
from qnn_ops.dialect.attributes import check_rank as check_rank
from qnn_ops.errors import QnnError

if TYPE_CHECKING:  # it imports TVM
    from qnn_ops.dialect.registry import Attrs, TensorSpec

_DTYPE_NAMES = {"input": "quantized_data", "output": "out_dtype"}
"""What errors about a dtype name, for tensors whose scales are called otherwise."""


def check_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the front; raise unless it lies within ``rank``."""
    if not -rank <= axis < rank:
        raise QnnError(f"axis {axis} is outside a tensor of {rank} dimensions")
    return axis % rank


def check_quantization(
    name: str,
    scale: float | Sequence[float],
    zero_point: int | Sequence[int],
    dtype: str,
    channels: int | None = None,
) -> None:
    """Raise unless scale and zero point can quantize a tensor of ``dtype``.

    Args:
        name: the arguments' name in errors: "input" for input_scale and input_zero_point. Other
            names have "{}" in the place of "scale".
        scale: positive, finite; one per channel only where ``channels`` is given.
        zero_point: within ``dtype``; one per channel only where ``channels`` is given.
        dtype: int8, uint8, int16 or int32.
        channels: the number of channels, or None if only per-tensor quantization is allowed.
    """
    low, high = dtype_range(dtype)
    pattern = name if "{}" in name else f"{name}_{{}}"
    scale_name, point_name = pattern.format("scale"), pattern.format("zero_point")
    for value in _values(scale_name, scale, channels):
        if not (math.isfinite(value) and value > 0):
            raise QnnError(f"{scale_name} must be positive and finite, got {value}")
    for point in _values(point_name, zero_point, channels):
        if not low <= point <= high:
            raise QnnError(f"{point_name} must lie within {dtype}, got {point}")


def check_arithmetic(attrs: Attrs, *dtypes: str) -> None:
    """Raise unless a call's arithmetic takes tensors of these dtypes."""
    if attrs.arithmetic != LITERT:
        for dtype in dtypes:
            check_dtype(f"a tensor of arithmetic {attrs.arithmetic!r}", dtype, QUANTIZED)


def check_alike(dtypes: Mapping[str, str], zero_points: Mapping[str, int]) -> None:
    """Raise unless an operator's tensors are all of 8 bits, or all int16 with zero points 0.

    Args:
        dtypes: of the operands and the result, by their names in errors.
        zero_points: of the same tensors, by the names of the attributes.
    """
    if "int16" not in dtypes.values():
        return
    for name, dtype in dtypes.items():
        check_dtype(f"{name} beside int16", dtype, ("int16",))
    for name, point in zero_points.items():
        if point != 0:
            raise QnnError(f"{name} must be 0 for int16, got {point}")


def check_tensors(attrs: Attrs, *, may_widen: bool = False, **operands: TensorSpec) -> None:
    """Raise unless dtypes and quantizations of operands and result fit, and go together.

    Args:
        attrs: the call's attributes.
        may_widen: whether 8-bit operands may have an int16 result.
        operands: by the names of their scales and zero points.
    """
    dtypes: dict[str, str] = {name: spec.dtype for name, spec in operands.items()}
    dtypes["output"] = attrs.out_dtype
    named = {_DTYPE_NAMES.get(name, name): dtype for name, dtype in dtypes.items()}
    for name, dtype in named.items():
        check_dtype(name, dtype, ACTIVATIONS)
    if hasattr(attrs, "arithmetic"):
        check_arithmetic(attrs, *dtypes.values())
    if not may_widen:
        points = (f"{name}_zero_point" for name in dtypes)
        check_alike(named, {name: getattr(attrs, name) for name in points})
    for name, dtype in dtypes.items():
        scale, point = (getattr(attrs, f"{name}_{each}") for each in ("scale", "zero_point"))
        check_quantization(name, scale, point, dtype)


def check_stated_multiplier(attrs: Attrs, channels: int | None = None) -> None:
    """Raise if a call has the attribute ``multiplier``, and scaling by it is not defined.

    Args:
        attrs: the call's attributes.
        channels: the number of channels, or None if only one value is allowed.
    """
    for value in _values("multiplier", getattr(attrs, "multiplier", 1.0), channels):
        if not (math.isfinite(value) and value > 0):
            raise QnnError(f"multiplier must be positive and finite, got {value}")


def check_bounds(dtype: str, out_min: int, out_max: int) -> None:
    """Raise unless out_min <= out_max lie within ``dtype``."""
    low, high = dtype_range(dtype)
    if not low <= out_min <= out_max <= high:
        raise QnnError(
            f"out_min and out_max must be ordered and within {dtype}, got {out_min} and {out_max}"
        )


def _values(
    name: str, value: float | Sequence[float] | Sequence[int], channels: int | None
) -> Sequence[float]:
    if not isinstance(value, Sequence):
        return (value,)
    if channels is None:
        raise QnnError(f"{name} must be one value for the whole tensor, got {len(value)}")
    if len(value) != channels:
        raise QnnError(f"{name} has {len(value)} values, the channel axis has {channels}")
    return value


def int32_values(name: str, x: npt.ArrayLike) -> Int64Array:
    """Return integers within int32, held as int64 so that sums and products of two do not overflow.

    Args:
        name: the values' name in errors.
        x: integers, any shape.

    Returns:
        int64, of the shape of ``x``.

    Raises:
        QnnError: if a value is not an integer within int32.
    """
    values = np.asarray(x)
    if values.dtype in (np.int32, np.int16, np.int8, np.uint8):
        return values.astype(np.int64)
    return within(name, values, -(2**31), 2**31 - 1)


def integers(name: str, x: npt.ArrayLike) -> Int64Array:
    """Return integers as int64, or raise."""
    values = np.asarray(x)
    if not np.issubdtype(values.dtype, np.integer) or values.dtype == np.uint64:
        raise QnnError(f"{name} must be integers that fit int64, got dtype {values.dtype}")
    return values.astype(np.int64)


def within(name: str, x: npt.ArrayLike, low: int, high: int) -> Int64Array:
    """Return integers as int64, or raise if one lies outside a range."""
    values = integers(name, x)
    return _all(name, f"lie within {low}..{high}", values, (values >= low) & (values <= high))


def positive_float32(name: str, x: npt.ArrayLike) -> Float32Array:
    """Return scales as float32.

    Args:
        name: the scales' name in errors.
        x: any shape.

    Raises:
        QnnError: if a scale is not positive and finite.
    """
    with np.errstate(over="ignore"):
        values = np.asarray(x, dtype=np.float32)
    return _all(name, "be positive and finite", values, np.isfinite(values) & (values > 0))


def finite(name: str, x: npt.ArrayLike, dtype: type[np.floating[Any]]) -> Any:
    """Return floats of a dtype, or raise if one is infinite or NaN."""
    values = np.asarray(x, dtype)
    return _all(name, "be finite", values, np.isfinite(values))


def _all(name: str, rule: str, values: Any, is_good: Any) -> Any:
    if not is_good.all():
        raise QnnError(f"{name} must {rule}, got {values[~is_good][0]}")
    return values
