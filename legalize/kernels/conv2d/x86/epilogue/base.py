"""The interface of an epilogue: the end of every x86 kernel, from accumulators to outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.plan import Columns
from legalize.kernels.conv2d.spec import Addend, OutputStage
from legalize.kernels.conv2d.x86.epilogue.residual import RoundedSum
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.vectors import Array, Index, Vector, kept


@dataclass(frozen=True, eq=False)
class Scales:
    """The multipliers of accumulators, and the accumulators' bounds.

    Attributes:
        multiplier: [out_channels] of ``multiplier_dtype``.
        shift: int32 [out_channels], positive to the left.
        bias: int32 [out_channels], part of the accumulators.
        bounds: int64 [out_channels], or one for all channels; no accumulator of the channel is
            further from zero.
        columns: the constants of float32 outputs.
        factor: the factor by which the given accumulators are too large.
        addend: a tensor that is added before rounding.
    """

    multiplier: Array
    shift: Array
    bias: Array
    bounds: Array | int
    columns: Columns | None = None
    factor: int = 1
    addend: Addend | None = None

    @property
    def bound(self) -> int:
        """The largest of the bounds."""
        return int(np.max(self.bounds))


class Chosen(NamedTuple):
    """An epilogue that is exact for a convolution.

    Attributes:
        epilogue: the sequence.
        arrays: its constants, [vectors, rows, lanes].
        offset: to be added to the accumulators, [out_channels] or 0.
    """

    epilogue: Epilogue
    arrays: tuple[Array, ...] = ()
    offset: Any = 0


@dataclass(frozen=True)
class Epilogue(ABC):
    """A sequence of instructions from accumulators to outputs.

    Attributes:
        constants: dtype and number of rows of each array; a row is one register.
        factor: the factor by which the sequence's accumulators are too large.
        zero_point_left: the number that must still be added to the results: ``narrow_words`` adds
            it cheaply.
        float_sum: the sum with the residual's tensor, if this sequence gives floats.
    """

    takes_factor: ClassVar[bool] = False
    """Whether the sequence can take accumulators that are too large by a factor."""
    _: KW_ONLY
    constants: tuple[tuple[str, int], ...] = ()
    factor: int = 1
    zero_point_left: int = 0
    float_sum: RoundedSum | None = None

    @classmethod
    @abstractmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Lay out the constants of this sequence; None if it is not exact.

        Args:
            output: dtype, zero point, bounds and rounding of the outputs.
            scales: the accumulators' scales.
            lanes: the channel of each lane, [vectors, lanes].
        """

    @abstractmethod
    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Build the expression that rescales one vector.

        Args:
            x: int32 vector, the accumulators.
            rows: a function from row to vector for each array.
            addend: int32 vector of the tensor that is added before rounding, if there is one; or
                the row's scale and zero point, for outputs of float32.

        Returns:
            The outputs, int32, before the clamp and less ``zero_point_left``, unless the subclass
            says otherwise; the bits of float32 if there is a ``float_sum`` or outputs are float32.
        """


Rows = list[tuple[Table, int]]
"""For each of ``Epilogue.constants`` its parameter, and the values of a row."""


def declare_rows(
    epilogue: Epilogue, tables: Tables, vectors: int, lanes: int, *, is_any: bool = False
) -> Rows:
    """Declare a parameter for each array of an epilogue; see ``Tables.parameter``."""
    found = []
    for number, (dtype, count) in enumerate(epilogue.constants):
        width = 4 * lanes // np.dtype(dtype).itemsize
        shape = (vectors, count, width)
        found.append((tables.parameter(f"rescale_{number}", shape, dtype, is_any=is_any), width))
    return found


def read_rows(rows: Rows, vector: Index) -> list[Vector]:
    """Return the functions that read rows of a vector's constants, each row once."""

    def read(table: Table, lanes: int) -> Vector:
        return cache(lambda row: kept(table[vector, row, T.ramp(0, 1, lanes)]))

    return [read(*each) for each in rows]
