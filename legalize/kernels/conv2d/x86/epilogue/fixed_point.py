"""From int32 accumulators to quantized outputs: the end of every x86 kernel.

Here is fixed point; float32.py, float64.py and onednn.py have the
other sequences.

With p = x·q, the 64-bit product of accumulator and multiplier, e the right shift, z the zero
point and h = (p + 2^30) >> 31:

* ``upward`` rounding is (p + 2^(30+e)) >> (31+e);
* ``tflite`` rounding is (h + 2^(e-1) - [h < 0]) >> e for e > 0, and h for e = 0.

A floor of a floor is one floor, so both are (((p + c) >> 31) - [h < 0]) >> e, the last term for
``tflite`` only, with a constant c per channel that takes up all that is added, z·2^(31+e) too.
The inner shift costs nothing: it takes the upper half of 2p + 2c. Without the term, and with no e
of 0, all is one shift: the upper half of p + c, and e − 1.

The last term lowers no result above zero. So it is left out where the clamp begins at the zero
point, as after a ReLU ("one_floor"; else "two_floors"); and it does not matter whether it asks
for h < 0 or x < 0, as they only differ where h = 0 and the result is 0.

Lanes are multiplied as vpmuldq does, even and odd ones apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.epilogue.float32 import FloatScales, requantize_float
from legalize.kernels.conv2d.x86.epilogue.float64 import requantize_double, requantize_magic
from legalize.kernels.conv2d.x86.epilogue.onednn import FloatStage, requantize_onednn
from legalize.kernels.conv2d.x86.epilogue.residual import add_residual
from legalize.kernels.ir.registers import lanes_in

# With accumulators below this, 2x fits its lane, |2p| < 2^62 and |h| < 2^30.
_MAX_FAST_ACCUMULATOR = 1 << 30
# And up to this shift z·2^(32+e) < 2^61 can be added to 2p, and z·2^e to h.
_MAX_FOLDED_SHIFT = 21

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Requantization:
    """How accumulators become outputs.

    Attributes:
        kind: A key of the table of sequences.
        has_zero_shift: Whether a channel of "two_floors" has e = 0.
        folds_zero_point: Whether the zero point is part of the 64-bit addend.
        is_doubled: Whether it takes the upper half of 2p, or else of p.
        float_stage: What "onednn" has to do.
    """

    kind: str
    has_zero_shift: bool = False
    folds_zero_point: bool = False
    is_doubled: bool = True
    float_stage: FloatStage | None = None


def choose_requantization(spec: ConvSpec, shift: Array, accumulator_bound: int) -> Requantization:
    """Choose the cheapest exact sequence.

    Args:
        spec: The convolution.
        shift: int32 [out_channels]; positive to the left.
        accumulator_bound: No accumulator is further from zero.
    """
    if spec.output.dtype == "int32":
        return Requantization("none")
    low, high = int((-shift).min()), int((-shift).max())
    if low < 0 or accumulator_bound >= _MAX_FAST_ACCUMULATOR:
        return Requantization("general")
    folds_zero_point = high <= _MAX_FOLDED_SHIFT
    if spec.output.rounding == "upward" or spec.output.low >= spec.output.zero_point:
        return Requantization("one_floor", folds_zero_point=folds_zero_point, is_doubled=low == 0)
    return Requantization("two_floors", low == 0, folds_zero_point)


def float_requantization(scales: FloatScales) -> Requantization:
    """The sequence that takes these scales, and the constants of ``float_constants``."""
    has_two = scales.addend_below is not None
    return Requantization("float_two_floors" if has_two else "float_one_floor")


def double_requantization(is_magic: bool) -> Requantization:
    """The sequence for rounding "float64"; it takes the array of ``double_constants``."""
    return Requantization("magic" if is_magic else "double")


def float_stage_requantization(stage: FloatStage) -> Requantization:
    """The sequence for rounding "onednn"; it takes the array of ``float_stage_constants``."""
    return Requantization("onednn", float_stage=stage)


def constant_rows(requantization: Requantization) -> tuple[tuple[str, int], ...]:
    """Tell dtype and number of rows of the arrays of ``requantization_constants``.

    A row is one vector register, of ``row_lanes``.
    """
    stage = requantization.float_stage
    rows: dict[str, tuple[tuple[str, int], ...]] = {
        "none": (),
        "one_floor": (("int64", 4), ("int32", 1)),
        "two_floors": (("int64", 4), ("int32", 2 if requantization.has_zero_shift else 1)),
        "general": (("int32", 1), ("int32", 1)),
        "float_one_floor": (("float32", 3),),
        "float_two_floors": (("float32", 4), ("int32", 1)),
        "magic": (("float64", 2),),
        "double": (("float64", 2),),
        "onednn": (("float32", 2 if stage is not None and stage.adds_bias else 1),),
    }
    return rows[requantization.kind]


def row_lanes(dtype: str, lanes: int) -> int:
    """Values of a dtype in a register that holds ``lanes`` int32."""
    return 4 * lanes // np.dtype(dtype).itemsize


def requantization_constants(
    spec: ConvSpec, requantization: Requantization, multiplier: Array, shift: Array
) -> tuple[Array, ...]:
    """Compute what the sequence reads for each lane.

    Args:
        spec: The convolution.
        requantization: The sequence.
        multiplier: int32 [vectors, lanes], in the order of the lanes.
        shift: int32 [vectors, lanes].

    Returns:
        Arrays of the dtypes and shapes that ``constant_rows`` tells: [vectors, rows, lanes].
    """
    if requantization.kind == "none":
        return ()
    if requantization.kind == "general":
        return multiplier[:, None], shift[:, None]
    q, e = multiplier.astype(np.int64), -shift.astype(np.int64)
    half = np.int64(1) << (30 + e)
    if spec.output.rounding == "tflite":
        half = (1 << 30) + np.where(e > 0, half, 0)
    addend = half
    if requantization.folds_zero_point:
        addend += np.int64(spec.output.zero_point) << (31 + e)
    if requantization.is_doubled:
        addend = 2 * addend
    else:
        e = e - 1
    # Even and odd lanes apart: [vectors, 4, lanes / 2].
    products = np.stack([q[:, 0::2], q[:, 1::2], addend[:, 0::2], addend[:, 1::2]], axis=1)
    rows = [e, np.where(e > 0, -1, 0)] if requantization.has_zero_shift else [e]
    return products, np.stack(rows, axis=1).astype(np.int32)


def requantize(
    spec: ConvSpec,
    requantization: Requantization,
    x: Any,
    constants: list[Any],
    addend: Any = None,
) -> Any:
    """Build the expression that rescales one vector.

    Args:
        spec: The convolution.
        requantization: The sequence.
        x: int32 vector, the accumulators.
        constants: A function from row to vector for each array of
            ``requantization_constants``.
        addend: int32 vector of the tensor that is added, if there is one.

    Returns:
        The outputs before the clamp, int32; for ``general`` and ``double``, after the clamp. With
        a residual its sums, likewise.
    """
    if requantization.float_stage is not None:
        return requantize_onednn(spec, requantization.float_stage, x, constants[0], addend)
    value = _SEQUENCES[requantization.kind](spec, requantization, x, constants)
    return (
        value
        if spec.fusion.residual is None
        else add_residual(spec, spec.fusion.residual, value, addend)
    )


def _fast(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    products, shifts = constants
    lanes = range(lanes_in(x))
    factor = x + x if requantization.is_doubled else x
    # Shuffles, as shifts would wait for the port that multiplies.
    odd_lanes = T.Shuffle([factor], [lane | 1 for lane in lanes])
    even = _product(factor, products(0)) + products(2)
    odd = _product(odd_lanes, products(1)) + products(3)
    halves = [T.reinterpret(f"int32x{len(lanes)}", half) for half in (even, odd)]
    upper = T.Shuffle(halves, [lane + (len(lanes) if lane % 2 else 1) for lane in lanes])
    if requantization.kind == "two_floors":
        sign = T.shift_right(x, T.broadcast(T.int32(31), len(lanes)))
        if requantization.has_zero_shift:
            sign = T.bitwise_and(sign, shifts(1))
        upper = upper + sign
    scaled = T.shift_right(upper, shifts(0))
    if requantization.folds_zero_point:
        return scaled
    return scaled + T.broadcast(T.int32(spec.output.zero_point), len(lanes))


def _product(x: Any, multiplier: Any) -> Any:
    """Vpmuldq: multiply the even lanes of an int32 vector and an int64 vector."""
    pairs = T.reinterpret(f"int64x{lanes_in(multiplier)}", x)
    return _sign_extended(pairs) * _sign_extended(multiplier)


def _sign_extended(pairs: Any) -> Any:
    """Say that only the lower halves count."""
    shift = T.broadcast(T.int64(32), lanes_in(pairs))
    return T.shift_right(T.shift_left(pairs, shift), shift)


def _general(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    """Any shift, step by step in 64-bit lanes; what leaves 32 bits wraps, as in the reference."""
    lanes = lanes_in(x)
    narrow = f"int32x{lanes}"

    def splat(value: int) -> Any:
        return T.broadcast(T.int64(value), lanes)

    def wide(value: Any) -> Any:
        return T.Cast(f"int64x{lanes}", value)

    multiplier, shift = (array(0) for array in constants)
    q, s = wide(multiplier), wide(shift)
    if spec.output.rounding == "upward":
        down = splat(31) - s
        once = T.shift_right(wide(x) * q + T.shift_left(splat(1), down - splat(1)), down)
        scaled = wide(T.Cast(narrow, once))
    else:
        left = T.Cast(narrow, T.max(s, splat(0)))
        e = T.max(-s, splat(0))
        h = T.shift_right(wide(T.shift_left(x, left)) * q + splat(1 << 30), splat(31))
        half = T.shift_right(T.shift_left(splat(1), e), splat(1))
        away = T.bitwise_and(T.shift_right(h, splat(63)), -T.min(e, splat(1)))
        scaled = T.shift_right(h + half + away, e)
    y = scaled + splat(spec.output.zero_point)
    return T.Cast(narrow, T.max(T.min(y, splat(spec.output.high)), splat(spec.output.low)))


def _float(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    return requantize_float(x, constants)


def _magic(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    return requantize_magic(spec, x, (constants[0](0), constants[0](1)))


def _double(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    return requantize_double(spec, x, (constants[0](0), constants[0](1)))


def _none(spec: ConvSpec, requantization: Requantization, x: Any, constants: list[Any]) -> Any:
    return x


_SEQUENCES = {
    "none": _none,
    "one_floor": _fast,
    "two_floors": _fast,
    "general": _general,
    "float_one_floor": _float,
    "float_two_floors": _float,
    "magic": _magic,
    "double": _double,
}
