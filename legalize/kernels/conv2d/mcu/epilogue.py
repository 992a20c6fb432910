"""Sums and outputs of convolutions on microcontrollers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Array, Buffer, Index
from legalize.kernels.rescale import Form, prove
from qnn_ops.arithmetic import (
    multiply_by_quantized_multiplier,
    multiply_by_quantized_multiplier_single,
    requantize_float32,
    requantize_float64,
)

_ROUNDINGS = {
    "tflite": multiply_by_quantized_multiplier,
    "upward": multiply_by_quantized_multiplier_single,
}
_FLOATS = {"float32": requantize_float32, "float64": requantize_float64}

ROUNDINGS = (*_ROUNDINGS, *_FLOATS)
"""Those that an epilogue may have a form of."""

_HIGH = 32


@dataclass(frozen=True, eq=False)
class Epilogue:
    """The end of a kernel.

    Attributes:
        output: dtype and bounds.
        form: how sums are rescaled; None for int32 outputs, which are the sums.
    """

    output: OutputStage
    form: Form | None

    @property
    def constants(self) -> tuple[Array, ...]:
        """What ``rescaled`` reads of each channel."""
        form = self.form
        if form is None:
            return ()
        constants = form.multiplier, form.addend.reshape(-1)
        return constants if form.left.size == 1 else (*constants, form.left.astype(np.int8))

    def rescaled(self, total: Index, channel: Index, constants: Sequence[Buffer]) -> Index:
        """Return the output of a sum, which is read more than once.

        Args:
            total: the sum.
            channel: its number.
            constants: the buffers of ``constants``.
        """
        form = self.form
        if form is None:
            return total
        multiplier, addends, *lefts = constants
        left = T.Cast("int32", lefts[0][channel]) if lefts else T.int32(int(form.left[0]))
        shifted = T.shift_left(total, left)
        product = T.Cast("int64", shifted) * T.Cast("int64", multiplier[channel])
        addend = addends[channel]
        if len(form.addend) > 1:
            negative = addends[form.addend.shape[1] + channel]
            addend = T.Select(total < 0, negative, addend)
        if form.is_wide:
            right = T.int64(_HIGH + form.right)
            value = T.Cast("int32", T.shift_right(product + addend, right))
        else:
            high = T.Cast("int32", T.shift_right(product, T.int64(_HIGH)))
            value = T.shift_right(high + addend, T.int32(form.right))
        low, high = T.int32(self.output.low), T.int32(self.output.high)
        return T.Cast(self.output.dtype, T.max(T.min(kept(value), high), low))


def folded_bias(rows: Array, zero_point: int, bias: Array | None) -> Array:
    """Return the bias with the data's zero point in it, int32.

    Args:
        rows: centred weights of each output channel.
        zero_point: of the data.
        bias: of the convolution.
    """
    own = np.zeros(len(rows), np.int64) if bias is None else bias.astype(np.int64)
    return (own - zero_point * rows.astype(np.int64).sum(axis=1)).astype(np.int32)


def epilogue_of(
    output: OutputStage, weights: Weights, rows: Array, bias: Array, in_dtype: str
) -> Epilogue | None:
    """Return the epilogue that is the reference for every sum of these weights; None if none is.

    Args:
        output: what sums become.
        weights: have the multipliers.
        rows: centred weights of each output channel.
        bias: as ``folded_bias`` gives it.
        in_dtype: of the data.
    """
    if output.dtype == "int32":
        return Epilogue(output, None)
    info, wide = np.iinfo(in_dtype), rows.astype(np.int64)
    ends = wide * info.min, wide * info.max
    least, most = (end(*ends).sum(axis=1) + bias for end in (np.minimum, np.maximum))
    multiplier, shift = (
        np.broadcast_to(np.asarray(each), len(rows)) for each in (weights.multiplier, weights.shift)
    )

    def staircase(sums: Array) -> Array:
        if output.rounding in _FLOATS:
            scaled = _FLOATS[output.rounding](sums, multiplier)
        else:
            scaled = _ROUNDINGS[output.rounding](sums, multiplier, shift)
        return np.clip(scaled.astype(np.int64) + output.zero_point, output.low, output.high)

    real = np.asarray(multiplier, np.float64)
    if output.rounding not in _FLOATS:
        real = real * 2.0 ** (shift.astype(np.float64) - 31)
    form = prove(staircase, real, least, most, (output.low, output.high))
    return None if form is None else Epilogue(output, form)
