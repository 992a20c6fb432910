"""Resize to the nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of

Array = np.ndarray[Any, Any]

_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.where(x == np.floor(x) + 0.5, np.floor(x), _half_away(x)),
    "round_prefer_ceil": lambda x: _half_away(x),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _half_away(x: Array) -> Array:
    return np.trunc(x + np.copysign(np.float32(0.5), x))


@converter("Resize")
def _resize(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, _, scales, sizes = operands_of(operands, 4)
    if attributes.get("mode", b"nearest") != b"nearest":
        raise UnsupportedError("only the mode nearest is imported")
    if attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise UnsupportedError("only the policy stretch is imported")
    shape = spec_of(data).shape
    axes = [int(axis) % len(shape) for axis in attributes.get("axes", range(len(shape)))]
    factors, extents = _factors(scales, sizes, [shape[axis] for axis in axes])
    for axis, factor, extent in zip(axes, factors, extents, strict=True):
        places = _places(attributes, shape[axis], extent, factor)
        if places.tolist() != list(range(shape[axis])):
            data = builder.emit(R.take(data, relax.const(places, "int64"), axis, mode="clip"))
    return data


def _factors(
    scales: relax.Expr | None, sizes: relax.Expr | None, shape: list[int]
) -> tuple[list[Any], list[int]]:
    """Return the scale of each axis, float32, and its new size."""
    values = [None if each is None else constant_of(each) for each in (scales, sizes)]
    given = next((each for each in values if each is not None and each.size), None)
    if given is None or given.size != len(shape):
        raise UnsupportedError("its scales or sizes must be constant, one for each axis")
    if given is values[1]:
        extents = [int(each) for each in given]
        pairs = zip(extents, shape, strict=True)
        return [np.float32(np.float32(new) / np.float32(old)) for new, old in pairs], extents
    factors = [np.float32(each) for each in given]
    extents = [int(np.float32(old) * factor) for old, factor in zip(shape, factors, strict=True)]
    return factors, extents


def _places(attributes: dict[str, Any], size: int, extent: int, factor: Any) -> Array:
    """Return the place along an axis that each new one takes its value from."""
    mode = attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    rounding = attributes.get("nearest_mode", b"round_prefer_floor").decode()
    new, half = np.arange(extent).astype(np.float32), np.float32(0.5)
    if extent < 1:
        raise UnsupportedError("a size must be positive")
    if factor == 1:
        return np.arange(extent)
    if mode == "asymmetric":
        old = new / factor
    elif mode == "half_pixel":
        old = (new + half) / factor - half
    elif mode == "pytorch_half_pixel":
        old = (new + half) / factor - half if extent > 1 else np.zeros_like(new)
    elif mode == "align_corners":
        old = new * np.float32(size - 1) / np.float32(extent - 1) if extent > 1 else new * 0
    else:
        raise UnsupportedError(f"places by {mode} are not imported")
    if rounding not in _ROUNDINGS:
        raise UnsupportedError(f"nearest_mode {rounding!r} is not known")
    return np.clip(_ROUNDINGS[rounding](old), 0, size - 1).astype(np.int64)
