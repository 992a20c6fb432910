"""Requantization by one product and sum in float32, where it gives the same integers.

The sequence is floor(x·s + c), x: accumulator + offset. The offset, which goes into the bias, takes
up the zero point and the half that makes a floor round, but for a c below s. The sum is rounded
down, which changes no floor: so the sequence is as good as the slope s is; see steps.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import Addend, OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.conv2d.x86.epilogue.steps import fits, line_through, steps_of
from legalize.kernels.ir.types import Array, Vector
from legalize.kernels.isa.x86_instructions import floor_of_product

_LANES = 16


@dataclass(frozen=True)
class Floor(Epilogue):
    """The sequence.

    Attributes:
        factor: how many times as large accumulators come.
    """

    takes_factor: ClassVar[bool] = True
    factor: int = 1

    @classmethod
    def choose(
        cls, output: OutputStage, addend: Addend | None, scales: Scales, lanes: Array
    ) -> Chosen | None:
        """Serve vectors of AVX512, where there is a proof."""
        # Only AVX512 rounds down where it is told to, not by the processor's state.
        steps = steps_of(output, scales)
        if steps is None or lanes.shape[1] != _LANES:
            return None
        is_dead = steps.scale == 0
        offset = (output.zero_point + 0.5) / np.where(is_dead, np.inf, steps.scale)
        offset = np.rint(offset)
        if not fits(scales, offset):
            return None
        offset = offset.astype(np.int64)
        ends = (offset[:, None] + bound for bound in (-scales.bound, scales.bound))
        first = steps.first + offset[:, None]
        line = line_through(steps.scale, first, steps.outputs, *ends, factor=scales.factor)
        if line is None:
            return None
        rows = [deal(row, lanes) for row in (line.scale, line.addend)]
        return Chosen(cls(scales.factor), (np.stack(rows, axis=1),), offset.astype(np.int32))

    @property
    def constants(self) -> tuple[tuple[str, int], ...]:
        """s, c."""
        return (("float32", 2),)

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Return the floor of one fused product and sum."""
        return floor_of_product(T.Cast(f"float32x{_LANES}", x), rows[0](0), rows[0](1))
