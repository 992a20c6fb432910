"""The basic kernel of LSTM, of float32."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.lstm_basic import BIAS, CELLS, DATA, HIDDEN, WEIGHTS, check_basic
from frontends.tflite.converters.recurrent import RowWeights, check_constants
from qnn_ops import float_function

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
