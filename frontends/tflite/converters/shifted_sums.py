"""ADD and SUB of int16 tensors whose scales are powers of two: shifts, and one saturating sum."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.quantization import check_symmetric
from frontends.tflite.options import AddOptions, SubOptions
from qnn_ops import QnnError, requantize
from qnn_ops.tables_int16 import power_of_two

# Beyond it, TFLite's shift of an int16 is undefined.
_MOST_SHIFT = 15


def shifts_powers_of_two(ctx: Context) -> bool:
    """Tell whether an operator asks for shifts, and its scales are powers of two."""
    options = ctx.operator.options
    if not isinstance(options, AddOptions | SubOptions) or not options.pot_scale_int16:
        return False
    tensors = (ctx.tensor(0), ctx.tensor(1), ctx.output())
    return all(power_of_two(per_tensor(tensor)[0]) is not None for tensor in tensors)


def shifted_sum(ctx: Context, bounds: tuple[int, int]) -> relax.Expr:
    """Return the sum or difference.

    Source: Add and BroadcastSub16POTSlow of TFLite's kernels/internal/reference, and what
    PrepareInt16SubOpPOT of its kernels/sub.cc takes.
    """
    operands, result = (ctx.input(0), ctx.input(1)), ctx.output()
    exponents = [power_of_two(per_tensor(operand.tensor)[0]) for operand in operands]
    exponent = power_of_two(per_tensor(result)[0])
    shifts = [(exponent or 0) - (each or 0) for each in exponents]
    if min(shifts) != 0 or max(shifts) > _MOST_SHIFT:
        raise QnnError(
            f"one scale must be that of {result.label}, the other one at most 2^{_MOST_SHIFT} "
            f"times smaller, got 2^{exponents} and 2^{exponent}"
        )
    is_sum = ctx.operator.code == "ADD"
    if is_sum and operands[0].shape != operands[1].shape:
        raise UnsupportedError("sums of int16 with pot_scale_int16 that broadcast")
    check_symmetric(ctx.tensor(0), ctx.tensor(1), result)
    # A product with a power of two in float64 is exact, so this rounds once, half away from zero.
    parts = [
        R.astype(
            requantize(operand.expr, 1.0, 0, 2.0**shift, 0, "int16", rounding="float64"), "int32"
        )
        for operand, shift in zip(operands, shifts, strict=True)
    ]
    low, high = (relax.const(bound, "int32") for bound in bounds)
    total = R.add(*parts) if is_sum else R.subtract(*parts)
    return R.astype(R.minimum(R.maximum(total, low), high), "int16")
