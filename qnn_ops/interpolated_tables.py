"""Tables of functions of int16 that TFLite interpolates: what it makes of every value.

TFLite keeps 513 samples of a function, 128 values of int16 apart, and between them a straight
line; a softmax has two such functions inside.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import round_half_away

Int16Array = npt.NDArray[np.int16]

EVERY_INT16 = np.arange(-(2**15), 2**15, dtype=np.int64)
"""All values of int16, the lowest first."""

_STEPS, _BITS = 512, 7
_LOW, _HIGH = -(2**15), 2**15 - 1


def samples(
    function: Callable[[npt.NDArray[np.floating]], npt.NDArray[np.floating]],
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    real: type[np.floating] = np.float32,
) -> Int16Array:
    """Sample a real function, each sample less half of the line's error in the middle after it.

    Source: LUTPopulateInt16 of TFLite's kernels/internal/common.h.

    Args:
        function: takes real inputs, gives as many results.
        input_scale: real value of one step of the input.
        input_zero_point: the input's value that means 0.
        output_scale: real value of one step of the output, whose zero point is 0.
        real: in which all is computed.

    Returns:
        int16 [513].
    """
    scale, step_of_result = real(input_scale), real(output_scale)
    first, last = scale * real(_LOW - input_zero_point), scale * real(_HIGH - input_zero_point)
    step = (last - first) / real(_STEPS)
    inverse = real(2**16) / (step_of_result * real(_HIGH) - step_of_result * real(_LOW))
    places = np.arange(_STEPS + 1).astype(real)
    with np.errstate(all="ignore"):
        values = np.asarray(function(first + places * step), real)
        middles = np.asarray(function(first + places[:-1] * step + step / real(2)), real)
        end = np.asarray(function(np.array([last], real)), real)
        steps = round_half_away(values[:-1] * inverse)
        lines = round_half_away((values[1:] * inverse + steps) / real(2))
        errors = lines - round_half_away(middles * inverse)
        adjusted = steps - round_half_away(errors / real(2))
        chosen = np.append(adjusted, round_half_away(end * inverse))
    # What is no number, beside one that is infinite, becomes 0 in LiteRT's build for x86.
    inside = np.clip(np.nan_to_num(chosen, nan=0.0), real(_LOW), real(_HIGH))
    return inside.astype(np.int16)


def interpolated(table: Int16Array) -> Int16Array:
    """Return the values of every int16 between samples, the one of the lowest first.

    Source: LUTLookup of TFLite's kernels/internal/common.h.

    Args:
        table: int16 [513].

    Returns:
        int16 [65536].
    """
    places = (EVERY_INT16 >> _BITS) + _STEPS // 2
    offsets = EVERY_INT16 & ((1 << _BITS) - 1)
    slopes = (table[1:].astype(np.int64) - table[:-1]).astype(np.int16).astype(np.int64)
    rise = (slopes[places] * offsets + (1 << (_BITS - 1))) >> _BITS
    return (table[places] + rise).astype(np.int16)
