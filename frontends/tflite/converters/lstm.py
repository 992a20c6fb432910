"""LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM."""

from __future__ import annotations

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.lstm_basic import DATA, basic_lstm, float_basic_lstm
from frontends.tflite.converters.lstm_floats import float_lstm
from frontends.tflite.converters.lstm_integers import integer_lstm
from frontends.tflite.converters.lstm_operands import ALONE, LstmOperands, Places
from frontends.tflite.converters.recurrent import Way, state_of
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import LSTMOptions, UnidirectionalSequenceLSTMOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_WEIGHTS = ("float32", "int8", "uint8")


@data_converter("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def convert_lstm(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Run an LSTM over the steps of a sequence, or one; it goes on where the run before ended."""
    options = _options(ctx)
    if options is None:
        return float_basic_lstm(ctx) if ctx.tensor(DATA).dtype == "float32" else basic_lstm(ctx)
    return run_lstm(ctx, options, ALONE, Way(options.time_major))


def run_lstm(
    ctx: Context, options: UnidirectionalSequenceLSTMOptions, at: Places, way: Way
) -> relax.Expr:
    """Return the results of one LSTM of an operator, and change its states.

    Args:
        ctx: the operator.
        options: of it.
        at: where the operands are.
        way: how it goes over its data.
    """
    operands = LstmOperands.of(ctx, at)
    data = ctx.input(at.data)
    dtypes = data.tensor.dtype, operands.weights[-1].dtype
    if dtypes not in _RULES:
        raise UnsupportedError(f"of {dtypes[0]} data and {dtypes[1]} weights")
    rule, kept, counted = _RULES[dtypes]
    if 0 in data.shape:
        raise QnnError(f"{data.tensor.label} has no elements")
    rows = way.begin(ctx, at.data)
    batch, steps, _ = spec_of(rows).shape
    hidden = state_of(ctx, operands.hidden, batch, operands.outputs, kept)
    cells = state_of(ctx, operands.cells, batch, operands.count, counted)
    if ctx.output().dtype != dtypes[0]:
        raise UnsupportedError(f"an {ctx.output().dtype} result of {dtypes[0]} data")
    beside = {} if at.beside is None else {"beside": way.begin_beside(ctx, at.beside[0], rows)}
    results = rule(ctx, operands, options, rows, hidden, cells, **beside)
    for tensor, new in zip((operands.hidden, operands.cells), results[1:], strict=True):
        ctx.values.change(tensor, reshaped(new, tensor.shape))
    result = ctx.builder.emit(reshaped(results[0], (batch, steps, operands.outputs)))
    return way.end(ctx, result, len(data.shape))


def _options(ctx: Context) -> UnidirectionalSequenceLSTMOptions | None:
    """Return the options, those of a single step as those of a sequence; None of a basic kernel."""
    if ctx.operator.code != "LSTM":
        return ctx.options(UnidirectionalSequenceLSTMOptions)
    options = ctx.options(LSTMOptions)
    if options.kernel_type:
        return None
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
