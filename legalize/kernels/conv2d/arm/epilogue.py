"""From int32 accumulators to quantized outputs: the end of every ARM kernel.

NEON's instructions are gemmlowp's arithmetic but for one detail. With accumulator x, multiplier q
and right shift e:

* sqrdmulh gives h = (x·q + 2^30) >> 31, which is gemmlowp's doubling high multiply (its one
  saturating case takes a negative q). sqdmulh gives (x·q) >> 31.
* srshl and sqrshrn shift to the right and round half up: (h + 2^(e−1)) >> e.

``tflite`` rounding is sqrdmulh and a shift that rounds half away from zero: (h + 2^(e−1) −
[h < 0]) >> e for e > 0. So the sign of h is added before the shift; but where the clamp begins at
the zero point, as after a ReLU, it changes nothing, as it lowers no result above zero.

``upward`` rounding, (x·q + 2^(30+e)) >> (31+e), is sqdmulh and srshl for e > 0, as a floor of a
floor is one floor.

``float32`` and ``float64`` convert, multiply, and round as fcvtns and fcvtas do: half to even and
half away from zero, saturating.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.registers import kept
from legalize.kernels.isa.arm import Isa
from legalize.kernels.isa.neon import LANES, Neon, half, joined
from qnn_ops.arithmetic import quantize_multiplier

Array = npt.NDArray[Any]

# What sqrshrn shifts by.
_NARROWING_SHIFTS = range(1, 17)


@dataclass(frozen=True)
class Requantization:
    """How accumulators become outputs.

    Attributes:
        kind: "none", "fixed", "float32" or "float64".
        is_rounded_twice: Of "fixed": whether the product is rounded before the shift.
        has_left_shifts: Of "fixed": whether a channel is shifted to the left first.
        away: Of "fixed": for which channels the sign is added: "none", "some" or "all".
        shift: Of "fixed": the right shift, if narrowing can do it for all channels.
    """

    kind: str
    is_rounded_twice: bool = True
    has_left_shifts: bool = False
    away: str = "none"
    shift: int = 0


def can_requantize(isa: Isa, rounding: str, real_multiplier: Array) -> bool:
    """Whether there is a sequence for a rounding and these multipliers."""
    if rounding == "tflite":
        return True
    if rounding == "upward":
        multiplier, shift = quantize_multiplier(real_multiplier)
        return bool(((shift < 0) | (multiplier == 0)).all())
    # ARMv7 has neither vectors of float64 nor conversions that round to nearest.
    return not isa.neon.is_armv7


def choose_requantization(
    spec: ConvSpec, real_multiplier: Array
) -> tuple[Requantization, tuple[tuple[str, Array], ...]]:
    """Choose the cheapest exact sequence.

    Args:
        spec: The convolution. Its ``rounding`` is one that ``can_requantize``.
        real_multiplier: float64 [out_channels], as ``qnn_ops.rounding.scale_down`` takes it.

    Returns:
        The sequence; and the rows of constants it reads: (dtype, [out_channels]) each.
    """
    if spec.output.dtype == "int32":
        return Requantization("none"), ()
    if spec.output.rounding in ("float32", "float64"):
        return Requantization(spec.output.rounding), ((spec.output.rounding, real_multiplier),)
    multiplier, shift = quantize_multiplier(real_multiplier)
    # The results of a multiplier of zero are zero, however they are shifted.
    shift = np.where(multiplier == 0, shift.min(), shift)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    is_twice = spec.output.rounding == "tflite"
    needs_sign = is_twice and spec.output.low < spec.output.zero_point and right.any()
    away = ("all" if right.all() else "some") if needs_sign else "none"
    narrowing = int(right[0]) if np.ptp(right) == 0 and right[0] in _NARROWING_SHIFTS else 0
    requantization = Requantization("fixed", is_twice, bool(left.any()), away, narrowing)
    rows = [("int32", multiplier)]
    if not narrowing and right.any():
        rows.append(("int32", -right))
    if left.any():
        rows.append(("int32", left))
    return requantization, tuple(rows)


def requantize(neon: Neon, requantization: Requantization, x: Any, rows: list[Any]) -> Any:
    """Build the expression that rescales one vector.

    Args:
        neon: The instructions.
        requantization: The sequence.
        x: int32x4, the accumulators.
        rows: The vectors of the constants' rows.

    Returns:
        int32x4, before the zero point is added, and before the shift that narrowing does.
    """
    return _SEQUENCES[requantization.kind](neon, requantization, x, rows)


def _none(neon: Neon, requantization: Requantization, x: Any, rows: list[Any]) -> Any:
    return x


def _fixed(neon: Neon, requantization: Requantization, x: Any, rows: list[Any]) -> Any:
    multiplier, *shifts = rows
    if requantization.has_left_shifts:
        x = neon.words("sshl", x, shifts.pop())
    h = neon.words("sqrdmulh" if requantization.is_rounded_twice else "sqdmulh", x, multiplier)
    if requantization.away != "none":
        h = kept(h)
        # Shifts to the right are negative: so is the sign of what has one.
        signs = T.bitwise_and(h, shifts[0]) if requantization.away == "some" else h
        h = h + T.shift_right(signs, T.broadcast(T.int32(31), LANES))
    return neon.words("srshl", h, shifts[0]) if shifts else h


def _float32(neon: Neon, requantization: Requantization, x: Any, rows: list[Any]) -> Any:
    product = T.Cast("float32x4", x) * rows[0]
    return T.call_llvm_pure_intrin("int32x4", "llvm.aarch64.neon.fcvtns.v4i32.v4f32", product)


def _float64(neon: Neon, requantization: Requantization, x: Any, rows: list[Any]) -> Any:
    halves = []
    for number in range(2):
        product = T.Cast("float64x2", half(x, number)) * half(rows[0], number)
        name = "llvm.aarch64.neon.fcvtas.v2i64.v2f64"
        rounded = T.call_llvm_pure_intrin("int64x2", name, product)
        name = "llvm.aarch64.neon.sqxtn.v2i32"
        halves.append(T.call_llvm_pure_intrin("int32x2", name, rounded))
    return joined(*halves)


_SEQUENCES = {"none": _none, "fixed": _fixed, "float32": _float32, "float64": _float64}
