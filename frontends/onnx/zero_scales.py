"""Constants of which some scales are 0, as those of channels that training has switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_OF_BIAS = 3
"""The operands of an operator that has a bias."""
_LEAST = 2
"""Those of a DequantizeLinear: integers and scales."""


def without_zero_scales(
    nodes: list[Any], constants: Mapping[str, Array], attributes_of: Any, prefix: str
) -> dict[str, Array]:
    """Give them other scales, and integers that stand for 0 as before.

    The scale of a bias stays the product of those of data and weights.

    Args:
        nodes: of a model; operands of those that dequantize are renamed.
        constants: of it, by name.
        attributes_of: gives a node's attributes.
        prefix: of names that no tensor has.

    Returns:
        Constants that are new.
    """
    made = {node.output[0]: node for node in nodes if node.op_type == "DequantizeLinear"}
    added: dict[str, Array] = {}
    found: dict[str, Array] = {}
    for name, node in made.items():
        names = [each for each in node.input if each]
        if len(names) < _LEAST or any(each not in constants for each in names):
            continue
        array, scales, *points = known = [constants[each] for each in names]
        if scales.dtype != np.float32 or scales.ndim > 1 or scales.all():
            continue
        found[name] = scales
        kept = scales[scales > 0]
        given = np.where(scales > 0, scales, kept.min() if kept.size else np.float32(1))
        axis = int(attributes_of(node).get("axis", 1))
        is_zero, zero = (
            _beside(scales == 0, array, axis),
            _beside(points[0] if points else np.zeros((), array.dtype), array, axis),
        )
        for place, each in enumerate((np.where(is_zero, zero, array), given)):
            added[f"{prefix}{name}_{place}"] = each.astype(known[place].dtype)
            node.input[place] = f"{prefix}{name}_{place}"
    for node in nodes:
        if len(node.input) != _OF_BIAS or node.input[2] not in found:
            continue
        data, weights, bias = node.input
        if data not in made or weights not in found:
            continue
        step, scales = constants.get(made[data].input[1]), added[made[weights].input[1]]
        shape = found[bias].shape
        if step is not None and step.size == 1 and scales.shape == shape:
            product = np.asarray(step.reshape(()) * scales, np.float32)
            added[made[bias].input[1]] = product
    return added


def _beside(values: Array, array: Array, axis: int) -> Array:
    """Return values of channels in a shape that broadcasts to an array's."""
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if each == axis % array.ndim else 1 for each in range(array.ndim)])
