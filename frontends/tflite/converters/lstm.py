"""LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM."""

from __future__ import annotations

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.lstm_floats import float_lstm
from frontends.tflite.converters.lstm_integers import integer_lstm
from frontends.tflite.converters.lstm_operands import LstmOperands
from frontends.tflite.converters.recurrent import state_of, turned
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import LSTMOptions, UnidirectionalSequenceLSTMOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_WEIGHTS = ("float32", "int8", "uint8")


@data_converter("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def convert_lstm(ctx: Context) -> relax.Expr:
    """Run an LSTM over the steps of a sequence, or one; it goes on where the run before ended."""
    options = _options(ctx)
    operands = LstmOperands.of(ctx)
    data = ctx.input(0)
    dtypes = data.tensor.dtype, operands.weights[-1].dtype
    if dtypes not in _RULES:
        raise UnsupportedError(f"of {dtypes[0]} data and {dtypes[1]} weights")
    rule, kept, counted = _RULES[dtypes]
    if 0 in data.shape:
        raise QnnError(f"{data.tensor.label} has no elements")
    sequence = data.expr
    if len(data.shape) == 2:
        sequence = ctx.builder.emit(reshaped(sequence, (data.shape[0], 1, data.shape[1])))
    batch, steps, _ = spec_of(sequence).shape
    if options.time_major:
        batch, steps = steps, batch
    hidden = state_of(ctx, operands.hidden, batch, operands.outputs, kept)
    cells = state_of(ctx, operands.cells, batch, operands.count, counted)
    if ctx.output().dtype != dtypes[0]:
        raise UnsupportedError(f"an {ctx.output().dtype} result of {dtypes[0]} data")
    rows = turned(ctx, sequence, time_major=options.time_major)
    results = rule(ctx, operands, options, rows, hidden, cells)
    for tensor, new in zip((operands.hidden, operands.cells), results[1:], strict=True):
        ctx.values.change(tensor, reshaped(new, tensor.shape))
    result = ctx.builder.emit(reshaped(results[0], (batch, steps, operands.outputs)))
    if len(data.shape) == 2:
        return reshaped(result, (batch, operands.outputs))
    return turned(ctx, result, time_major=options.time_major)


def _options(ctx: Context) -> UnidirectionalSequenceLSTMOptions:
    """Return the options; those of a single step as those of a sequence.

    Raises:
        UnsupportedError: the operator is another kind of LSTM.
    """
    if ctx.operator.code != "LSTM":
        return ctx.options(UnidirectionalSequenceLSTMOptions)
    options = ctx.options(LSTMOptions)
    if options.kernel_type:
        raise UnsupportedError("the basic kernel, of one tensor of weights")
    return UnidirectionalSequenceLSTMOptions(
        activation=options.activation,
        cell_clip=options.cell_clip,
        proj_clip=options.proj_clip,
        time_major=False,
        asymmetric_quantize_inputs=options.asymmetric_quantize_inputs,
    )


_RULES = {
    ("int8", "int8"): (integer_lstm, "int8", "int16"),
    **{("float32", weights): (float_lstm, "float32", "float32") for weights in _WEIGHTS},
}
"""By types of data and weights: the rule, and the types of hidden values and of cells."""
