"""UNIDIRECTIONAL_SEQUENCE_LSTM."""

from __future__ import annotations

from math import prod

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.lstm_floats import float_lstm
from frontends.tflite.converters.lstm_integers import integer_lstm
from frontends.tflite.converters.lstm_operands import LstmOperands
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import Tensor
from frontends.tflite.options import UnidirectionalSequenceLSTMOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_WEIGHTS = ("float32", "int8", "uint8")


@data_converter("UNIDIRECTIONAL_SEQUENCE_LSTM")
def convert_lstm(ctx: Context) -> relax.Expr:
    """Run an LSTM over the steps of a sequence; it goes on where the run before ended."""
    options = ctx.options(UnidirectionalSequenceLSTMOptions)
    operands = LstmOperands.of(ctx)
    data = ctx.input(0)
    dtypes = data.tensor.dtype, operands.weights[-1].dtype
    if dtypes not in _RULES:
        raise UnsupportedError(f"of {dtypes[0]} data and {dtypes[1]} weights")
    rule, kept, counted = _RULES[dtypes]
    if 0 in data.shape:
        raise QnnError(f"{data.tensor.label} has no elements")
    batch, steps = (data.shape[1], data.shape[0]) if options.time_major else data.shape[:2]
    hidden = _state(ctx, operands.hidden, batch, operands.outputs, kept)
    cells = _state(ctx, operands.cells, batch, operands.count, counted)
    if ctx.output().dtype != dtypes[0]:
        raise UnsupportedError(f"an {ctx.output().dtype} result of {dtypes[0]} data")
    rows = _turned(ctx, data.expr, options.time_major)
    results = rule(ctx, operands, options, rows, hidden, cells)
    for tensor, new in zip((operands.hidden, operands.cells), results[1:], strict=True):
        ctx.values.change(tensor, reshaped(new, tensor.shape))
    result = ctx.builder.emit(reshaped(results[0], (batch, steps, operands.outputs)))
    return _turned(ctx, result, options.time_major)


_RULES = {
    ("int8", "int8"): (integer_lstm, "int8", "int16"),
    **{("float32", weights): (float_lstm, "float32", "float32") for weights in _WEIGHTS},
}
"""By types of data and weights: the rule, and the types of hidden values and of cells."""


def _state(ctx: Context, tensor: Tensor, batch: int, size: int, dtype: str) -> relax.Expr:
    """Return a state, a row for each of the batch."""
    if not tensor.is_variable:
        raise QnnError(f"the state {tensor.label} is no variable tensor")
    if tensor.dtype != dtype or prod(tensor.shape) != batch * size:
        raise QnnError(
            f"the state {tensor.label} is {tensor.dtype} of shape {tensor.shape}, "
            f"needs {dtype} of {batch * size} elements"
        )
    return ctx.builder.emit(reshaped(ctx.values.of(tensor), (batch, size)))


def _turned(ctx: Context, sequence: relax.Expr, time_major: bool) -> relax.Expr:
    """Let steps and batch change places, if they are not where they belong."""
    first, second, size = spec_of(sequence).shape
    if not time_major:
        return sequence
    if 1 in (first, second):
        return ctx.builder.emit(reshaped(sequence, (second, first, size)))
    return ctx.builder.emit(R.permute_dims(sequence, [1, 0, 2]))
