"""Brings attributes to one form, so that equal calls are structurally equal.

Scales become Python floats that hold float32 values exactly, zero points become ints; one
per channel becomes a list. The checks here are those that declarations need; all others are in
``qnn_ops.dialect.checks``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError

if TYPE_CHECKING:  # it imports TVM
    from qnn_ops.dialect.registry import TensorSpec

LITERT = "tflite"
"""The arithmetic that every operator has."""

QUANTIZED = ("int8", "uint8")
ACTIVATIONS = (*QUANTIZED, "int16")

Scale = float | Sequence[float]
ZeroPoint = int | Sequence[int]


def scale_attr(scale: Any) -> float | list[float]:
    """Return a scale, or one per channel, as the nearest float32 values."""
    try:
        with np.errstate(over="ignore"):  # the type rule names an infinite scale
            values = np.asarray(scale, dtype=np.float32)
    except (TypeError, ValueError):
        values = np.empty(0, np.float32)
    if scale is None or values.ndim > 1 or values.size == 0:
        raise QnnError(f"a scale is a number or a list of numbers, got {scale!r}")
    if values.size == 1:
        return float(values.reshape(()))
    scales: list[float] = values.tolist()
    return scales


def zero_point_attr(zero_point: Any) -> int | list[int]:
    """Return a zero point, or one per channel, as ints."""
    try:
        values = np.asarray(zero_point)
    except ValueError:  # lists of different lengths
        values = np.empty(0)
    if values.ndim > 1 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
        raise QnnError(f"a zero point is an integer or a list of integers, got {zero_point!r}")
    if values.size == 1:
        return int(values.reshape(()))
    points: list[int] = values.tolist()
    return points


def float_attr(name: str, value: Any) -> float:
    """Return ``value`` as the nearest float32."""
    try:
        with np.errstate(over="ignore"):  # the type rule names an infinite value
            return float(np.float32(value))
    except (TypeError, ValueError):
        raise QnnError(f"{name} must be a number, got {value!r}") from None


def int_attr(name: str, value: Any) -> int:
    """Return ``value`` as an int."""
    try:
        return index(value)
    except TypeError:
        raise QnnError(f"{name} must be an integer, got {value!r}") from None


def int_list_attr(name: str, values: Any) -> list[int]:
    """Return ``values`` as a list of ints of any length."""
    try:
        return [index(value) for value in values]
    except TypeError:
        raise QnnError(f"{name} must be a list of integers, got {values!r}") from None


def list_attr(name: str, values: Any) -> list[Any]:
    """Return ``values`` as a list of any length and content."""
    try:
        return list(values)
    except TypeError:
        raise QnnError(f"{name} must be a list, got {values!r}") from None


def ints_attr(name: str, value: int | Sequence[int], length: int) -> list[int]:
    """Return ``value`` as a list of ``length`` ints; a single int is repeated."""
    values = _int_or_ints(value, length)
    if len(values) != length:
        raise QnnError(f"{name} must be an int or {length} ints, got {value!r}")
    return values


def padding_attr(padding: int | Sequence[int]) -> list[int]:
    """Read a padding as (top, left, bottom, right); two values are (vertical, horizontal)."""
    values = _int_or_ints(padding, 4)
    if len(values) == 2:
        values = values * 2
    if len(values) != 4:
        raise QnnError(f"padding must be an int, 2 or 4 ints, got {padding!r}")
    return values


def _int_or_ints(value: Any, repeat: int) -> list[int]:
    """Return a list of ints, or one int repeated; an empty list for any other value."""
    try:
        return [index(value)] * repeat if np.ndim(value) == 0 else [index(item) for item in value]
    except (TypeError, ValueError):
        return []


def per_axis(value: Any, axis: int, rank: int) -> Array:
    """Return a scalar as it is, or one value per channel shaped to broadcast along ``axis``."""
    values = np.asarray(value)
    if values.ndim == 0:
        return values
    return values.reshape([-1 if dim == axis % rank else 1 for dim in range(rank)])


@cache
def dtype_range(dtype: str) -> tuple[int, int]:
    """Return the lowest and the highest value of an integer dtype.

    Raises:
        QnnError: if ``dtype`` is not one of the dialect's integer dtypes.
    """
    if dtype not in ("int8", "uint8", "int16", "int32"):
        raise QnnError(f"dtype must be int8, uint8, int16 or int32, got {dtype!r}")
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def bounds(attrs: Any, dtype: str) -> tuple[int, int]:
    """Return the clamp range of a call's result: the call's bounds, or those of its ``dtype``."""
    low, high = dtype_range(dtype)
    return getattr(attrs, "out_min", low), getattr(attrs, "out_max", high)


def check_dtype(name: str, dtype: str, allowed: Sequence[str]) -> None:
    """Raise unless ``dtype`` is one of ``allowed``."""
    if dtype not in allowed:
        raise QnnError(f"{name} must be {' or '.join(allowed)}, got {dtype}")


def check_rank(name: str, spec: TensorSpec, rank: int) -> None:
    """Raise unless the tensor has ``rank`` dimensions."""
    if len(spec.shape) != rank:
        raise QnnError(f"{name} must have {rank} dimensions, got shape {spec.shape}")


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise QnnError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
