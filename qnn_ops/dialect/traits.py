"""The facts about an operator that passes need. Only the operator's own file states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from qnn_ops.dialect.registry import Attrs

OFFSETS = {"uint8": 128, "int8": -128}
"""The number to add to 8-bit values when they become this dtype, so that they mean the same."""

Moved: TypeAlias = "Callable[[Attrs, str], dict[str, Any]]"
"""The attributes that change when values become a dtype: (attributes, dtype) -> their values."""


class Channels(Enum):
    """The attributes of a call that tell the axis of its image's channels."""

    ANYWHERE = auto()
    """None: the operands broadcast, and each element of the result reads one of each."""
    ANYWHERE_IN_FIRST = auto()
    """None: each element of the result reads one of the first operand, and all others whole."""
    AXIS = auto()
    """``axis``, of the first operand and of the result."""
    REDUCED_AXES = auto()
    """``axis``: one axis or several, which the result lacks, or has with size 1 (``keepdims``)."""
    PAD_WIDTH = auto()
    """``pad_width``, which has two numbers for each axis."""
    LAYOUT = auto()
    """``layout``."""
    CONVOLUTION = auto()
    """``data_layout``, ``kernel_layout`` and ``out_layout``."""
    LAST = auto()
    """None: the channels are the last axis."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The facts about an operator that passes need. None has a default: a missing one is an error.

    Attributes:
        zero_points: by the names of the 8-bit operands whose values may be moved to the other
            signedness, the attribute that moves along; None if no attribute does.
        moved: computes the attributes that change if the result is moved; None if it cannot be.
        keeps: tells whether a call's results are values of its first operand, so that both are
            moved or neither; None if no call of the operator has such results.
        clamps: whether the operator ends with a clamp to ``out_min`` and ``out_max``.
        channels: the attributes that tell the axis of the channels.
    """

    zero_points: Mapping[str, str | None]
    moved: Moved | None
    keeps: Callable[[Attrs], bool] | None
    clamps: bool
    channels: Channels

    @property
    def elementwise(self) -> int:
        """The number of 8-bit operands of which an element of the result reads one element each.

        They are the first operands. It is 0 if the operator computes otherwise.
        """
        anywhere = self.channels in (Channels.ANYWHERE, Channels.ANYWHERE_IN_FIRST)
        return len(self.zero_points) if anywhere else 0


def fixed(channels: Channels) -> Traits:
    """Return the traits of an operator whose tensors keep their values."""
    return Traits(zero_points={}, moved=None, keeps=None, clamps=False, channels=channels)


FIXED = fixed(Channels.LAST)
"""The traits of an operator whose tensors keep their values and the order of their axes."""


def moving(*names: str) -> Moved:
    """Let attributes move along, each one number or one per channel; ``out_dtype`` changes, too.

    Args:
        names: names of the attributes that move. A call may lack them, and ``out_dtype``.
    """

    def moved(attrs: Attrs, dtype: str) -> dict[str, Any]:
        changes = shifted(attrs, dtype, *names)
        return {**changes, "out_dtype": dtype} if hasattr(attrs, "out_dtype") else changes

    return moved


def shifted(attrs: Attrs, dtype: str, *names: str) -> dict[str, Any]:
    """Move the attributes that a call has, as the values move that become ``dtype``."""
    present = {name: getattr(attrs, name) for name in names if hasattr(attrs, name)}
    return {name: _added(value, OFFSETS[dtype]) for name, value in present.items()}


def always(_attrs: Attrs) -> bool:
    """Return True for every call."""
    return True


MOVED_RESULT = moving("output_zero_point", "out_min", "out_max")
"""The attributes that move along with a result."""

OF_DATA = {"quantized_data": "input_zero_point"}
OF_BOTH = {"lhs": "lhs_zero_point", "rhs": "rhs_zero_point"}
"""The zero points of operators of one tensor, and of two."""


def rescaling(zero_points: Mapping[str, str], channels: Channels, *, clamps: bool) -> Traits:
    """Return the traits of an operator that rescales its values: see ``Traits``."""
    return Traits(
        zero_points=zero_points, moved=MOVED_RESULT, keeps=None, clamps=clamps, channels=channels
    )


def _added(value: int | tuple[int, ...], offset: int) -> int | list[int]:
    return [item + offset for item in value] if isinstance(value, tuple) else value + offset
