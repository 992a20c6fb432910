"""What model files tell of inputs and outputs to those who use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Description:
    """What a file tells of one input or output; all of it may be missing.

    Attributes:
        labels: the names of classes, in order.
        threshold: the least score that counts.
        mean: what is subtracted from a picture's values from 0 to 255: a number, or one for each
            channel.
        std: what the difference is divided by, likewise.
    """

    labels: tuple[str, ...] = ()
    threshold: float | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


@dataclass(frozen=True)
class Descriptions:
    """What a file tells of its inputs and outputs.

    Attributes:
        inputs: by their places, where the file tells anything.
        outputs: likewise.
        notes: what of it could not be read, and why.
    """

    inputs: Mapping[int, Description] = field(default_factory=dict)
    outputs: Mapping[int, Description] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
