"""The facts about an operator that passes need, stated only beside the operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from qnn_ops.dialect.registry import Attrs

OFFSETS = {"uint8": 128, "int8": -128}
"""The number to add to 8-bit values that become this dtype and mean the same."""

Moved: TypeAlias = "Callable[[Attrs, str], dict[str, Any]]"
"""The attributes that change where values become a dtype: (attributes, dtype) -> their values."""


class Channels(Enum):
    """The attributes by which a call says where the channels of its image are."""

    ANYWHERE = auto()
    """It does not: the axes of all operands, which broadcast, may change places."""
    ANYWHERE_IN_FIRST = auto()
    """It does not, and all operands but the first one stay as they are."""
    AXIS = auto()
    """By ``axis``, of the first operand and of the result."""
    REDUCED_AXES = auto()
    """By ``axis``, one or several that the result has not, or of size 1 (``keepdims``)."""
    PAD_WIDTH = auto()
    """By ``pad_width``, which has two numbers for each axis."""
    LAYOUT = auto()
    """By ``layout``."""
    CONVOLUTION = auto()
    """By ``data_layout``, ``kernel_layout`` and ``out_layout``."""
    LAST = auto()
    """They are the last axis."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The facts about an operator that passes need. None has a default: a missing one is an error.

    Attributes:
        zero_points: for each 8-bit operand whose values may be moved to the other signedness, by
            its name, the attribute that moves along; None where no attribute does.
        moved: what changes where the result is moved; None where it cannot be.
        keeps: whether a call's results are values of its first operand, so that both are moved
            or neither; None if no call of the operator is such.
        clamps: whether the last that is done is a clamp to ``out_min`` and ``out_max``.
        channels: where they are.
    """

    zero_points: Mapping[str, str | None]
    moved: Moved | None
    keeps: Callable[[Attrs], bool] | None
    clamps: bool
    channels: Channels


FIXED = Traits(zero_points={}, moved=None, keeps=None, clamps=False, channels=Channels.LAST)
"""Those of an operator whose tensors stay as they are: their values, and the order of axes."""


def moving(*names: str) -> Moved:
    """Let attributes move along, one number or one per channel each, and ``out_dtype`` change.

    Args:
        names: of those that move. A call need not have them, nor an ``out_dtype``.
    """

    def moved(attrs: Attrs, dtype: str) -> dict[str, Any]:
        changes = shifted(attrs, dtype, *names)
        return {**changes, "out_dtype": dtype} if hasattr(attrs, "out_dtype") else changes

    return moved


def shifted(attrs: Attrs, dtype: str, *names: str) -> dict[str, Any]:
    """Move those of the attributes that a call has as values move that become ``dtype``."""
    present = {name: getattr(attrs, name) for name in names if hasattr(attrs, name)}
    return {name: _added(value, OFFSETS[dtype]) for name, value in present.items()}


def always(_attrs: Attrs) -> bool:
    """Say yes of every call."""
    return True


MOVED_RESULT = moving("output_zero_point", "out_min", "out_max")
"""The attributes that move along with a result."""


def _added(value: int | tuple[int, ...], offset: int) -> int | list[int]:
    return [item + offset for item in value] if isinstance(value, tuple) else value + offset
