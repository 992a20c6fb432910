"""Turns sums into outputs, four channels at a time."""

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, splat
from legalize.kernels.isa.helium import FOUR, lifted, shifted, upper_products
from legalize.kernels.isa.mcu import number

_TOP = 24  # the bits of a word above the byte of an output


class Fields:
    """The constants of four channels. Each is read at its first use.

    Args:
        epilogue: the channels' epilogue.
        buffer: contains the array of ``Epilogue.constants``.
        group: the number of a group of ``lanes`` channels.
        lanes: as in ``Epilogue.constants``.
        first: the first of the four channels in the group.
    """

    def __init__(
        self, epilogue: Epilogue, buffer: Buffer, group: Index, lanes: int = FOUR, first: int = 0
    ) -> None:
        self.epilogue, self.buffer = epilogue, buffer
        self.start, self.lanes = group * lanes * len(epilogue.rows) + first, lanes
        self._read: dict[int, Vector] = {}

    def row(self, number: int) -> Vector:
        """Return one of the epilogue's ``rows``."""
        if number not in self._read:
            ramp = T.ramp(self.start + number * self.lanes, 1, FOUR)
            self._read[number] = kept(self.buffer[ramp])
        return self._read[number]

    def with_bias(self, total: Vector) -> Vector:
        """Add the bias to sums, unless the form contains it."""
        epilogue = self.epilogue
        return total if epilogue.bias is None else kept(total + self.row(len(epilogue.rows) - 1))

    def scaled(self, total: Vector) -> Vector:
        """Return sums, bias included, before their last shift."""
        epilogue, form = self.epilogue, self.epilogue.form
        assert form is not None
        if form.left.size > 1:
            raised = lifted(total, self.row(epilogue.left_row))
        else:
            raised = shifted(total, number(int(form.left[0]) + 1) - 1)
        addend = self.row(epilogue.addend_row)
        if len(form.addend) > 1:
            negative = self.row(epilogue.addend_row + 1)
            addend = T.Select(total < splat("int32", 0, FOUR), negative, addend)
        common = epilogue.multiplier
        multiplier = self.row(0) if common is None else splat("int32", common, FOUR)
        return kept(upper_products(raised, multiplier) + addend)

    def rescaled(self, total: Vector) -> Vector:
        """Return sums as outputs of 32 bits; only the lowest eight count.

        Args:
            total: the sums without their bias.
        """
        total = self.with_bias(total)
        output, form = self.epilogue.output, self.epilogue.form
        if form is None:
            return total
        value = self.scaled(total)
        info = np.iinfo(output.dtype)
        if (output.low, output.high) == (info.min, info.max) == (-128, 127) and form.right < _TOP:
            raised = kept(shifted(value, number(_TOP - form.right), saturates=True))
            return T.shift_right(raised, splat("int32", _TOP, FOUR))
        value = T.shift_right(value, splat("int32", form.right, FOUR))
        low, high = (splat("int32", end, FOUR) for end in (output.low, output.high))
        return T.max(T.min(kept(value), high), low)
