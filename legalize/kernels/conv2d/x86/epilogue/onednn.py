"""The roundings "onednn" and "float32" scale sums in float32; "onednn" also adds a tensor there.

The sum x and its bias b are converted to float32. With a channel's multiplier m, and a tensor a
with the multiplier k, an output is rint(fma(a, k, (x + b)·m)), plus the zero point and clamped.

If no sum leaves 24 bits, with or without the bias, x + b is exact, so the bias is added to the
integers instead, at no cost. If no product leaves 32 bits, as is usual, it need not be bounded
before the conversion. The conversion turns every number that is too large into the lowest integer.
"""

from dataclasses import dataclass

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import Addend, OutputStage
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from legalize.kernels.ir.vectors import Array, Vector, lanes_in
from legalize.kernels.isa.x86_instructions import to_int32

_EXACT = 1 << 24
_MOST = float((1 << 31) - 256)
# No 8-bit value less its zero point is beyond this.
_MAX_ADDEND = 255


@dataclass(frozen=True)
class OneDnn(Epilogue):
    """The sequence.

    Attributes:
        zero_point: the outputs' zero point.
        addend: the tensor added before rounding, if any.
        adds_bias: whether the bias is added in float32.
        saturates: whether products may leave 32 bits.
    """

    zero_point: int
    addend: Addend | None
    adds_bias: bool
    saturates: bool

    @classmethod
    def choose(cls, output: OutputStage, scales: Scales, lanes: Array) -> Chosen | None:
        """Serve roundings "onednn" and "float32", whose bias is added to the integers.

        The rows are multipliers and, if they are added in float32, biases.
        """
        highest = int(np.abs(scales.bias.astype(np.int64)).max(initial=0))
        product = scales.bound * float(scales.multiplier.max(initial=0))
        if scales.addend is not None:
            product += _MAX_ADDEND * scales.addend.multiplier
        adds_bias = output.rounding == "onednn" and scales.bound + highest >= _EXACT
        rows = [deal(scales.multiplier, lanes).astype(np.float32)]
        if adds_bias:
            rows.append(deal(scales.bias, lanes).astype(np.float32))
        epilogue = cls(output.zero_point, scales.addend, adds_bias, product >= _MOST)
        return Chosen(epilogue, (np.stack(rows, axis=1),), -scales.bias if adds_bias else 0)

    def emit(self, x: Vector, rows: list[Vector], addend: Vector = None) -> Vector:
        """Scale, add and round."""
        lanes = lanes_in(x)
        real = f"float32x{lanes}"
        value = T.Cast(real, x)
        if self.adds_bias:
            value = value + rows[0](1)
        value = value * rows[0](0)
        if self.addend is not None:
            if self.addend.relu_before:
                value = T.max(value, _splat(0.0, lanes))
            centred = addend - T.broadcast(T.int32(self.addend.zero_point), lanes)
            factor = _splat(self.addend.multiplier, lanes)
            value = T.call_llvm_pure_intrin(
                real, f"llvm.fma.v{lanes}f32", T.Cast(real, centred), factor, value
            )
        if self.float_sum is not None:
            return self.float_sum.whole(value)
        if self.saturates:
            value = T.max(T.min(value, _splat(_MOST, lanes)), _splat(-_MOST, lanes))
        whole = to_int32(value)
        if self.zero_point == 0:
            return whole
        return whole + T.broadcast(T.int32(self.zero_point), lanes)


def _splat(value: float, lanes: int) -> Vector:
    return T.broadcast(T.float32(value), lanes)
