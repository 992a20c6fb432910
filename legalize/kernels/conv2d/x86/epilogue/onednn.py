"""The rounding "onednn": sums are scaled in float32, and another tensor is added before they round.

With the sum x and its bias b, both converted to float32, a multiplier m per channel and a tensor a
that has the multiplier k, an output is rint(fma(a, k, (x + b)·m)), plus the zero point and clamped.

Where no sum leaves 24 bits, with or without the bias, x + b is exact, and the bias is added to the
integers instead, for nothing. Where no product leaves 32 bits, as hardly any does, it need not be
bounded before the conversion, which gives the lowest integer for whatever is too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.registers import lanes_in

Array = npt.NDArray[Any]

_EXACT = 1 << 24
_MOST = float((1 << 31) - 256)
# A vector of 8-bit values, zero point subtracted, has none beyond it.
_MAX_ADDEND = 255
# Round as the processor's state says, which is to the nearest.
_CURRENT = 4


@dataclass(frozen=True)
class FloatStage:
    """What the sequence has to do beyond the product.

    Attributes:
        adds_bias: Whether the bias is added in float32.
        saturates: Whether products may leave 32 bits.
    """

    adds_bias: bool
    saturates: bool


def float_stage_of(
    spec: ConvSpec, multiplier: Array, bias: Array, accumulator_bound: int
) -> FloatStage:
    """Tell what is needed for exact results.

    Args:
        spec: The convolution.
        multiplier: float32 [channels].
        bias: int32 [channels].
        accumulator_bound: No sum with its bias is further from zero.
    """
    highest = int(np.abs(bias.astype(np.int64)).max(initial=0))
    product = accumulator_bound * float(multiplier.max(initial=0))
    if spec.fusion.addend is not None:
        product += _MAX_ADDEND * spec.fusion.addend.multiplier
    return FloatStage(accumulator_bound + highest >= _EXACT, product >= _MOST)


def float_stage_constants(stage: FloatStage, multiplier: Array, bias: Array) -> tuple[Array, ...]:
    """Lay out what the sequence reads: multipliers and biases, float32 [vectors, rows, lanes].

    Args:
        stage: From ``float_stage_of``.
        multiplier: float32 [vectors, lanes], in the order of the lanes.
        bias: int32 [vectors, lanes].
    """
    rows = [multiplier.astype(np.float32)]
    if stage.adds_bias:
        rows.append(bias.astype(np.float32))
    return (np.stack(rows, axis=1),)


def requantize_onednn(spec: ConvSpec, stage: FloatStage, x: Any, rows: Any, addend: Any) -> Any:
    """Build the expression of the sequence: int32, before the clamp.

    Args:
        spec: The convolution.
        stage: From ``float_stage_of``.
        x: int32 vector, the sums; with their bias unless the stage adds it.
        rows: A function from row to vector of ``float_stage_constants``.
        addend: int32 vector of the other tensor's values, or None.
    """
    lanes = lanes_in(x)
    real = f"float32x{lanes}"
    value = T.Cast(real, x)
    if stage.adds_bias:
        value = value + rows(1)
    value = value * rows(0)
    if spec.fusion.addend is not None:
        if spec.fusion.addend.relu_before:
            value = T.max(value, _splat(0.0, lanes))
        centred = addend - T.broadcast(T.int32(spec.fusion.addend.zero_point), lanes)
        factor = _splat(spec.fusion.addend.multiplier, lanes)
        value = T.call_llvm_pure_intrin(
            real, f"llvm.fma.v{lanes}f32", T.Cast(real, centred), factor, value
        )
    if stage.saturates:
        value = T.max(T.min(value, _splat(_MOST, lanes)), _splat(-_MOST, lanes))
    whole = _to_int32(value, lanes)
    if spec.output.zero_point == 0:
        return whole
    return whole + T.broadcast(T.int32(spec.output.zero_point), lanes)


def _to_int32(value: Any, lanes: int) -> Any:
    """Cvtps2dq: round half to even."""
    result = f"int32x{lanes}"
    if lanes == 16:
        zeros = T.broadcast(T.int32(0), lanes)
        name = "llvm.x86.avx512.mask.cvtps2dq.512"
        mode = T.int32(_CURRENT)
        return T.call_llvm_pure_intrin(result, name, value, zeros, T.int16(-1), mode)
    name = {4: "llvm.x86.sse2.cvtps2dq", 8: "llvm.x86.avx.cvt.ps2dq.256"}[lanes]
    return T.call_llvm_pure_intrin(result, name, value)


def _splat(value: float, lanes: int) -> Any:
    return T.broadcast(T.float32(value), lanes)
