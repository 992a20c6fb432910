"""Inverted residuals, which several networks have: widen, convolve each channel, narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tvm_qnn.zoo.graph import Scaled, Value
from tvm_qnn.zoo.operators import Add, Conv, Depthwise


class Row(NamedTuple):
    """Blocks that follow one another.

    Attributes:
        expansion: the channels between, as a multiple of those before.
        channels: of the outputs.
        repetitions: how many blocks.
        stride: of the first block.
        kernel: height and width of the depthwise convolutions.
    """

    expansion: int
    channels: int
    repetitions: int
    stride: int
    kernel: int = 3


@dataclass(frozen=True)
class Stage:
    """What the blocks of a row make.

    Attributes:
        expanded: the wide values of the first block, of the size before.
        output: of the last block.
    """

    expanded: Value
    output: Value


MOBILENET_V2 = (
    Row(1, 16, 1, 1), Row(6, 24, 2, 2), Row(6, 32, 3, 2), Row(6, 64, 4, 2),
    Row(6, 96, 3, 1), Row(6, 160, 3, 2), Row(6, 320, 1, 1),
)  # fmt: skip


def stages(x: Value, rows: Sequence[Row], scaled: Scaled) -> list[Stage]:
    """Add rows of blocks, and return what each makes."""
    made = []
    for row in rows:
        channels = scaled(row.channels)
        expanded = []
        for repetition in range(row.repetitions):
            y = x
            if row.expansion > 1:
                y = Conv(x.shape[3] * row.expansion, (1, 1), activation="RELU6")(y)
            expanded.append(y)
            y = Depthwise((row.kernel, row.kernel), row.stride if repetition == 0 else 1)(y)
            y = Conv(channels, (1, 1), activation="NONE")(y)
            x = Add()(x, y) if repetition > 0 else y
        made.append(Stage(expanded[0], x))
    return made
