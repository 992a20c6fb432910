"""The sums and outputs of convolutions on microcontrollers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import UNFUSED, ConvSpec, OutputStage
from legalize.kernels.ir.vectors import Array, Buffer, Index, kept
from legalize.kernels.isa.mcu import words_of
from legalize.kernels.rescale import USUAL, Form, prove

_HIGH = 32


@dataclass(frozen=True)
class Fields:
    """The numbers that rescale the sums of a channel.

    Attributes:
        multiplier: None for int32 outputs, which are the sums.
        addends: one for all sums, or one for nonnegative and one for negative sums.
        left: the left shift in bits, if each channel has its own.
    """

    multiplier: Index | None
    addends: tuple[Index, ...]
    left: Index | None


@dataclass(frozen=True, eq=False)
class Epilogue:
    """The end of a kernel.

    Attributes:
        output: dtype and bounds.
        form: how sums are rescaled; None for int32 outputs, which are the sums.
        bias: the starting value of sums; None if the form adds it.
    """

    output: OutputStage
    form: Form | None
    bias: Array | None

    @property
    def rows(self) -> tuple[Array, ...]:
        """The numbers of each channel that a kernel reads, int32. A bias comes last."""
        rows: list[Array] = []
        if self.form is not None:
            if self.multiplier is None:
                rows.append(self.form.multiplier)
            if not self.form.is_wide:
                rows.extend(self.form.addend)
            if self.form.left.size > 1:
                rows.append(self.form.left)
        if self.bias is not None:
            rows.append(self.bias)
        return tuple(row.astype(np.int32) for row in rows)

    def constants(self, lanes: int = 1) -> tuple[Array, ...]:
        """Return the arrays that a kernel reads.

        Args:
            lanes: channels whose numbers of a row are adjacent; zeros fill the last ones.
        """
        rows = np.stack(self.rows) if self.rows else np.zeros((1, 0), np.int32)
        filled = np.pad(rows, ((0, 0), (0, -rows.shape[1] % lanes)))
        fields = filled.reshape(len(rows), -1, lanes).transpose(1, 0, 2).reshape(-1)
        if self.form is None or not self.form.is_wide:
            return (np.ascontiguousarray(fields),)
        return np.ascontiguousarray(fields), self.form.addend.reshape(-1)

    def start(self, channel: Index, constants: Sequence[Buffer]) -> Index:
        """Return the starting value of a channel's sum."""
        if self.bias is None:
            return T.int32(0)
        return constants[0][channel * len(self.rows) + len(self.rows) - 1]

    def fields(
        self, channel: Index, constants: Sequence[Buffer], *, has_pairs: bool = False
    ) -> Fields:
        """Read the numbers that rescale the sums of a channel.

        Args:
            channel: its number.
            constants: the buffers of ``constants``.
            has_pairs: whether an instruction reads two registers: see ``words_of``.
        """
        form = self.form
        if form is None:
            return Fields(None, (), None)
        count = len(self.rows) - (self.bias is not None)
        first = channel * len(self.rows)
        if has_pairs:
            rows = words_of(constants[0], first, count)
        else:
            rows = [constants[0][first + i] for i in range(count)]
        left = rows.pop() if form.left.size > 1 else None
        common = self.multiplier
        multiplier = rows.pop(0) if common is None else T.int32(common)
        addends = rows
        if form.is_wide:
            channels = form.addend.shape[1]
            addends = [constants[1][i * channels + channel] for i in range(len(form.addend))]
        return Fields(multiplier, tuple(addends), left)

    def rescaled(self, total: Index, fields: Fields, lifted: int = 0) -> Index:
        """Return the output of a sum, which is read more than once.

        Args:
            total: the sum.
            fields: its channel's numbers.
            lifted: the left shift that the sum already has, in bits.
        """
        form = self.form
        if form is None:
            return T.shift_right(total, T.int32(lifted)) if lifted else total
        addend = fields.addends[0]
        if len(fields.addends) > 1:
            addend = T.Select(total < 0, fields.addends[1], addend)
        shifted = _shifted(total, form, fields.left, lifted)
        product = T.Cast("int64", shifted) * T.Cast("int64", fields.multiplier)
        if form.is_wide:
            right = T.int64(_HIGH + form.right)
            value = T.Cast("int32", T.shift_right(product + addend, right))
        else:
            high = T.Cast("int32", T.shift_right(product, T.int64(_HIGH)))
            value = T.shift_right(high + addend, T.int32(form.right))
        low, high = T.int32(self.output.low), T.int32(self.output.high)
        return T.Cast(self.output.dtype, T.max(T.min(kept(value), high), low))

    @property
    def multiplier(self) -> int | None:
        """The multiplier of all channels; None if each has its own, which is the first row."""
        assert self.form is not None
        return int(self.form.multiplier[0]) if self.form.multiplier.size == 1 else None

    @property
    def addend_row(self) -> int:
        """The index in ``rows`` of the first addends."""
        return int(self.multiplier is None)

    @property
    def left_row(self) -> int:
        """The index in ``rows`` of the left shifts, if each channel has its own."""
        assert self.form is not None
        return self.addend_row + (0 if self.form.is_wide else len(self.form.addend))


def _shifted(total: Index, form: Form, own_left: Index | None, lifted: int) -> Index:
    if own_left is not None:
        own = T.shift_right(total, T.int32(lifted)) if lifted else total
        return T.shift_left(own, own_left)
    left = int(form.left[0]) - lifted
    return T.shift_left(total, T.int32(left)) if left >= 0 else T.shift_right(total, T.int32(-left))


def epilogue_of(
    spec: ConvSpec, weights: Weights, rows: Array, usual: int = USUAL
) -> Epilogue | None:
    """Return an epilogue that equals the reference for every sum of these weights.

    Args:
        spec: the convolution.
        weights: contain the multipliers and the bias.
        rows: the weights of each output channel.
        usual: see ``prove``.

    Returns:
        None if there is no such epilogue, or if kernels do not have the convolution's arithmetic.
    """
    if spec.kernel_dtype != "int8" or spec.has_asymmetric_kernel or spec.fusion != UNFUSED:
        return None
    output, own = spec.output, 0 if weights.bias is None else weights.bias.astype(np.int64)
    bias = (own - spec.input_zero_point * rows.astype(np.int64).sum(axis=1)).astype(np.int32)
    if output.dtype == "int32":
        return Epilogue(output, None, bias)
    least, most = reach_of(rows, spec.in_dtype)
    multiplier, shift = (
        np.broadcast_to(np.asarray(each), len(rows)) for each in (weights.multiplier, weights.shift)
    )

    rule = output.rule

    def staircase(sums: Array) -> Array:
        scaled = rule.scaled(sums.astype(np.int32), multiplier, shift)
        return np.clip(scaled.astype(np.int64) + output.zero_point, output.low, output.high)

    real = np.asarray(multiplier, np.float64)
    if rule.most_shift is not None:
        real = real * 2.0 ** (shift.astype(np.float64) - 31)
    bounds = output.low, output.high
    form = prove(
        *(lambda sums: staircase(sums + bias), real, least, most, bounds),
        narrow=True,
        usual=usual,
    )
    if form is not None:
        return Epilogue(output, form, None)
    form = prove(staircase, real, least + bias, most + bias, bounds, usual=usual)
    return None if form is None else Epilogue(output, form, bias)


def reach_of(rows: Array, in_dtype: str) -> tuple[Array, Array]:
    """Return the least and the largest sum of products of each channel, int64.

    Args:
        rows: centred weights of each output channel.
        in_dtype: the data's dtype.
    """
    info, wide = np.iinfo(in_dtype), rows.astype(np.int64)
    ends = wide * info.min, wide * info.max
    return np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
