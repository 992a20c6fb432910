"""Constants that are the real numbers of DequantizeLinear to every operator.

They have four bits, or scales by block or of float16.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_DTYPES = ("int4", "uint4")
_LEAST = 2
"""Operands: data and scale."""


def with_real_few_bits(
    nodes: list[Any], constants: Mapping[str, Array], kept: Collection[str], attributes_of: Any
) -> tuple[list[Any], dict[str, Array]]:
    """Compute what DequantizeLinear makes of such constants, of which ONNX Runtime has no groups.

    Args:
        nodes: of a model.
        constants: of it, by name.
        kept: the names of its outputs.
        attributes_of: gives a node's attributes.

    Returns:
        The nodes that are left, and constants that are new, of the scales' dtype.
    """
    left, added = [], {}
    for node in nodes:
        real = None
        names = [name for name in node.input if name]
        is_ready = len(names) >= _LEAST and all(name in constants for name in names)
        if is_ready and node.op_type == "DequantizeLinear" and node.output[0] not in kept:
            known = [constants[name] for name in names]
            given, is_half = attributes_of(node), known[1].dtype == np.float16
            if known[0].dtype.name in _DTYPES or given.get("block_size", 0) or is_half:
                real = _real(known, given)
        if real is None:
            left.append(node)
        else:
            added[node.output[0]] = real
    return left, added


def _real(known: list[Any], attributes: Mapping[str, Any]) -> Array | None:
    """Return the numbers, of the scales' dtype; None where scales do not fit, or have another."""
    array, scale, *points = known
    axis, size = int(attributes.get("axis", 1)), int(attributes.get("block_size", 0))
    if scale.dtype not in (np.float16, np.float32) or (
        scale.size > 1 and not -array.ndim <= axis < array.ndim
    ):
        return None
    parts = [each.astype(np.float32) for each in (scale, *points)]
    if size:
        parts = [np.repeat(each, size, axis) for each in parts]
        ends = [slice(None)] * array.ndim
        ends[axis] = slice(array.shape[axis])
        parts = [each[tuple(ends)] for each in parts]
    elif scale.size > 1:
        shape = [1] * array.ndim
        shape[axis] = -1
        parts = [each.reshape(shape) for each in parts]
    steps = array.astype(np.float32)
    try:
        for point in parts[1:]:
            steps = steps - point
        real = steps * parts[0]
    except ValueError:  # their sizes are others
        return None
    return np.asarray(real, scale.dtype) if real.shape == array.shape else None
