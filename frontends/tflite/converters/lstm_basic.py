"""The basic kernel of LSTM: one step, and one tensor of weights for all gates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, per_tensor, reshaped
from frontends.tflite.converters.fixed_point import FixedPoint, number
from frontends.tflite.converters.hybrid import SUMS
from frontends.tflite.converters.recurrent import RowWeights, check_constants
from frontends.tflite.options.layers import LSTMOptions
from qnn_ops import float_function, quantized_dense, quantized_lookup
from qnn_ops.arithmetic import quantize_multiplier
from qnn_ops.errors import QnnError
from qnn_ops.gates import GATE_BITS, logistic_table, tanh_table
from qnn_ops.tables_int16 import power_of_two

DATA, HIDDEN, WEIGHTS, BIAS, CELLS = range(5)
_GATES = 4
_DTYPES = ["uint8", "uint8", "uint8", "int32", "int16", "uint8", "int16", "uint8", "int16"]
_MIDDLE = 128  # of uint8: what is 0, whatever the tensors say
_GATE_ONE = 2 ** (15 - GATE_BITS)
_CELL_BITS = 4
_INT16 = 2**15 - 1


def basic_lstm(ctx: Context) -> list[relax.Expr]:
    """Return the hidden values, the cells, what the gates read, and their sums.

    Source of the arithmetic: LstmCell of TFLite's kernels/internal/optimized/optimized_ops.h for
    uint8, with cells of 4 integer bits.
    """
    units = check_basic(ctx, _DTYPES)
    _check_cells(ctx)
    emit = ctx.builder.emit
    data, hidden, cells = (ctx.input(place) for place in (DATA, HIDDEN, CELLS))
    rows = emit(R.concat([data.expr, hidden.expr], axis=1))
    point = per_tensor(ctx.tensor(WEIGHTS))[1]
    weights, bias = ctx.weights(WEIGHTS).expr, ctx.weights(BIAS).expr
    encodings = (1.0, _MIDDLE, 1.0, point, *SUMS[4:])
    sums = emit(quantized_dense(rows, weights, *encodings, bias=bias))
    both = _scaled(ctx, sums, per_tensor(ctx.tensor(BIAS))[0])

    def bent(table: np.ndarray[tuple[int], np.dtype[np.int16]], expr: relax.Expr) -> relax.Expr:
        constant = ctx.builder.add_constant(ctx.builder.fresh("table"), table)
        return emit(R.astype(emit(quantized_lookup(expr, constant)), "int64"))

    tables = logistic_table(), tanh_table(GATE_BITS), logistic_table(), logistic_table()
    let_in, proposed, forget, given = (
        bent(table, emit(R.strided_slice(both, [1], [gate * units], [(gate + 1) * units])))
        for gate, table in enumerate(tables)
    )
    old = emit(R.astype(cells.expr, "int64"))
    added = FixedPoint(ctx.builder).divided(_product(ctx, let_in, proposed), number(_CELL_BITS))
    new = emit(_clamped(R.add(added, _product(ctx, forget, old)), _INT16))
    kept = emit(R.astype(new, "int16"))
    shown = _product(ctx, given, bent(tanh_table(_CELL_BITS), kept))
    short = _clamped(FixedPoint(ctx.builder).divided(shown, number(8)), _MIDDLE - 1)
    result = emit(R.astype(R.add(short, number(_MIDDLE)), "uint8"))
    for operand, expr in ((hidden, result), (cells, kept)):
        if operand.tensor.is_variable:
            ctx.values.change(operand.tensor, reshaped(expr, operand.tensor.shape))
    return [result, kept, rows, both]


def _scaled(ctx: Context, sums: relax.Expr, scale: float) -> relax.Expr:
    """Return the sums as Q3.12: multiplied by 31 bits, shifted, and both rounded half up."""
    multiplier, shift = (int(part) for part in quantize_multiplier(np.float64(scale * _GATE_ONE)))
    _check_sums(ctx, max(shift, 0))
    wide = R.left_shift(R.astype(sums, "int64"), number(max(shift, 0)))
    scaled = FixedPoint(ctx.builder).product(ctx.builder.emit(wide), number(multiplier))
    if shift < 0:
        scaled = R.right_shift(R.add(scaled, number(1 << (-shift - 1))), number(-shift))
    return ctx.builder.emit(R.astype(ctx.builder.emit(_clamped(scaled, _INT16)), "int16"))


def _check_sums(ctx: Context, shift: int) -> None:
    """Raise if a sum, shifted to the left, can leave int32."""
    weights, bias = (ctx.constant(place).astype(np.float64) for place in (WEIGHTS, BIAS))
    sizes = np.abs(weights - per_tensor(ctx.tensor(WEIGHTS))[1]).sum(axis=1)
    reach = float((_MIDDLE * sizes + np.abs(bias)).max()) * 2.0**shift
    if reach >= 2**31:
        raise UnsupportedError(f"sums that can reach {reach:.0f}, which int32 does not hold")


def _product(ctx: Context, a: relax.Expr, b: relax.Expr) -> relax.Expr:
    """Multiply Q0.15: the high half of 2·a·b, rounded half up."""
    total = R.add(R.multiply(a, b), number(1 << 14))
    return ctx.builder.emit(R.right_shift(total, number(15)))


def _clamped(expr: relax.Expr, highest: int) -> relax.Expr:
    return R.minimum(R.maximum(expr, number(-highest - 1)), number(highest))


def check_basic(ctx: Context, needed: Sequence[str]) -> int:
    """Return how many units there are.

    Args:
        ctx: the operator.
        needed: the types of its operands and results.

    Raises:
        QnnError: these do not fit one another.
        UnsupportedError: they are of other types.
    """
    if len(ctx.operator.inputs) != CELLS + 1 or len(ctx.operator.outputs) != _GATES:
        counts = len(ctx.operator.inputs), len(ctx.operator.outputs)
        raise QnnError(f"needs 5 inputs and 4 outputs, got {counts[0]} and {counts[1]}")
    if ctx.options(LSTMOptions).activation != "TANH":
        raise UnsupportedError("the basic kernel with another activation than TANH")
    operands = [ctx.input(place) for place in range(CELLS + 1)]
    data, hidden, weights, bias, cells = operands
    dtypes = [operand.tensor.dtype for operand in operands]
    dtypes += [ctx.output(place).dtype for place in range(_GATES)]
    if dtypes != list(needed):
        raise UnsupportedError(f"the basic kernel of {', '.join(dtypes)}")
    if len(data.shape) != 2 or 0 in data.shape:
        raise QnnError(f"{data.tensor.label} has shape {data.shape}, needs 2 dimensions")
    batch, size = data.shape
    units = bias.shape[0] // _GATES if bias.shape else 0
    if not units:
        raise QnnError(
            f"{bias.tensor.label} has shape {bias.shape}, needs {_GATES} numbers for each unit"
        )
    shapes: list[tuple[Operand, tuple[int, ...]]] = [
        (hidden, (batch, units)),
        (weights, (_GATES * units, size + units)),
        (bias, (_GATES * units,)),
        (cells, (batch, units)),
    ]
    for operand, shape in shapes:
        if operand.shape != shape:
            raise QnnError(f"{operand.tensor.label} has shape {operand.shape}, needs {shape}")
    return units


def _check_cells(ctx: Context) -> None:
    for tensor in (ctx.tensor(CELLS), ctx.output(1)):
        if power_of_two(per_tensor(tensor)[0]) != _CELL_BITS - 15:
            raise UnsupportedError(f"{tensor.label} has another scale than 2^-11")


_FUNCTIONS = ("logistic", "tanh", "logistic", "logistic")


def float_basic_lstm(ctx: Context) -> list[relax.Expr]:
    """Return the hidden values, the cells, what the gates read, and their sums.

    Source of the arithmetic: LstmCell of TFLite's kernels/internal/optimized/optimized_ops.h for
    float32.
    """
    units = check_basic(ctx, ["float32"] * 9)
    check_constants([ctx.tensor(place) for place in (WEIGHTS, BIAS)], "float32")
    emit = ctx.builder.emit
    data, hidden, cells = (ctx.input(place) for place in (DATA, HIDDEN, CELLS))
    rows = emit(R.concat([data.expr, hidden.expr], axis=1))
    weights = RowWeights.of([ctx.tensor(WEIGHTS)], asymmetric=False)
    both = emit(R.add(weights.product(ctx, rows), ctx.weights(BIAS).expr))
    parts = [
        emit(R.strided_slice(both, [1], [gate * units], [(gate + 1) * units])) for gate in range(4)
    ]
    let_in, proposed, forget, given = (
        emit(float_function(part, name)) for part, name in zip(parts, _FUNCTIONS, strict=True)
    )
    new = emit(R.add(R.multiply(let_in, proposed), R.multiply(forget, cells.expr)))
    result = emit(R.multiply(given, emit(float_function(new, "tanh"))))
    for operand, expr in ((hidden, result), (cells, new)):
        if operand.tensor.is_variable:
            ctx.values.change(operand.tensor, reshaped(expr, operand.tensor.shape))
    return [result, new, rows, both]
