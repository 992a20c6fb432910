"""The axes of a reduction."""

from __future__ import annotations

from typing import Any

from tvm import relax

from frontends.errors import UnsupportedError
from qnn_ops.registry import constant_of


def axes_of(given: relax.Expr | None, attributes: dict[str, Any], rank: int) -> list[int]:
    """Return the axes, an attribute or an operand, counted from the first."""
    axes = attributes.get("axes", ())
    if given is not None:
        known = constant_of(given)
        if known is None:
            raise UnsupportedError("its axes must be constant")
        axes = known.reshape(-1).tolist()
    if any(not -rank <= axis < rank for axis in axes):
        raise UnsupportedError(f"axes {list(axes)} are outside a tensor of {rank} dimensions")
    return sorted({int(axis) % rank for axis in axes})
