"""RNN, LSTM and similar layers, unidirectional and bidirectional."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.layers.hybrid import bent
from frontends.tflite.converters.recurrent import parts
from frontends.tflite.converters.recurrent.lstm_floats import float_lstm
from frontends.tflite.converters.recurrent.lstm_integers import (
    DATA,
    basic_lstm,
    float_basic_lstm,
    integer_lstm,
)
from frontends.tflite.converters.recurrent.lstm_operands import ALONE, LstmOperands, Places
from frontends.tflite.converters.scales import check_real
from frontends.tflite.operators import converter
from frontends.tflite.options import layers
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_DTYPES = ("float32", "int8", "uint8")


@converter("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def convert_lstm(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Run an LSTM over one step or a sequence, from the state of the previous run."""
    if not isinstance(ctx.operator.options, layers.LSTMOptions):
        options = ctx.options(layers.UnidirectionalSequenceLSTMOptions)
        return run_lstm(ctx, options, ALONE, parts.Way(options.time_major))
    if not ctx.operator.options.kernel_type:
        return run_lstm(ctx, ctx.operator.options, ALONE, parts.Way(time_major=False))
    return float_basic_lstm(ctx) if ctx.tensor(DATA).dtype == "float32" else basic_lstm(ctx)


def run_lstm(ctx: Context, options: layers.AnyLSTM, at: Places, way: parts.Way) -> relax.Expr:
    """Return the results of one LSTM of an operator, and change its states.

    Args:
        ctx: the operator.
        options: of it.
        at: the indices of the operands.
        way: the order in which it reads its data.
    """
    operands = LstmOperands.of(ctx, at)
    data = ctx.input(at.data)
    dtypes = data.dtype, operands.weights[-1].dtype
    if dtypes not in _RULES:
        raise UnsupportedError(f"of {dtypes[0]} data and {dtypes[1]} weights")
    rule, kept, counted = _RULES[dtypes]
    if 0 in data.shape:
        raise QnnError(f"{data.label} has no elements")
    rows = way.begin(ctx, at.data)
    batch, steps, _ = spec_of(rows).shape
    hidden = parts.state_of(ctx, operands.hidden, batch, operands.outputs, kept)
    cells = parts.state_of(ctx, operands.cells, batch, operands.count, counted)
    if ctx.output().dtype != dtypes[0]:
        raise UnsupportedError(f"an {ctx.output().dtype} result of {dtypes[0]} data")
    beside = {} if at.beside is None else {"beside": way.begin_beside(ctx, at.beside[0], rows)}
    results = rule(ctx, operands, options, rows, hidden, cells, **beside)
    for tensor, new in zip((operands.hidden, operands.cells), results[1:], strict=True):
        ctx.values.change(tensor, reshaped(new, tensor.shape))
    result = ctx.emit(reshaped(results[0], (batch, steps, operands.outputs)))
    return way.end(ctx, result, len(data.shape))


_RULES = {
    ("int8", "int8"): (integer_lstm, "int8", "int16"),
    **{("float32", weights): (float_lstm, "float32", "float32") for weights in _DTYPES},
}
"""By types of data and weights: the rule, and the types of hidden values and cells."""


@dataclass(frozen=True)
class RnnPlaces:
    """The indices of a plain recurrent layer's operands.

    Attributes:
        data: the data.
        weights: of the data; after them come the weights of hidden values, the bias and the state.
        beside: a second sequence and its weights; None if there is none.
    """

    data: int = 0
    weights: int = 1
    beside: tuple[int, int] | None = None


@converter("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def convert_rnn(ctx: Context) -> relax.Expr:
    """Run a plain recurrent layer over one step or a sequence, from the previous run's state."""
    if isinstance(ctx.operator.options, layers.RNNOptions):
        return run_rnn(ctx, ctx.operator.options, RnnPlaces(), parts.Way(time_major=False), 2)
    options = ctx.options(layers.SequenceRNNOptions)
    return run_rnn(ctx, options, RnnPlaces(), parts.Way(options.time_major), 3)


def run_rnn(
    ctx: Context, options: layers.AnyRNN, at: RnnPlaces, way: parts.Way, rank: int
) -> relax.Expr:
    """Return the results of one layer of an operator, and change its hidden values.

    Source of the arithmetic: RnnBatchStep of TFLite's kernels/internal/kernel_utils.cc.

    Args:
        ctx: the operator.
        options: of it.
        at: the indices of the operands.
        way: the order in which it reads its data.
        rank: of the data.
    """
    weights, recurrent, bias, kept = (ctx.tensor(at.weights + index) for index in range(4))
    _check(ctx, at, rank)
    emit, units, asymmetric = ctx.emit, bias.shape[0], options.asymmetric_quantize_inputs
    sequence = way.begin(ctx, at.data)
    batch, steps, _ = spec_of(sequence).shape
    hidden = parts.state_of(ctx, kept, batch, units, "float32")
    sums = parts.products_of_rows(ctx, [weights], sequence, asymmetric=asymmetric)
    sums = emit(R.add(sums, relax.const(parts.real_of(bias))))
    if at.beside is not None:
        beside, weights_beside = way.begin_beside(ctx, at.beside[0], sequence), at.beside[1]
        more = parts.products_of_rows(
            ctx, [ctx.tensor(weights_beside)], beside, asymmetric=asymmetric
        )
        sums = emit(R.add(sums, more))
    sums = emit(reshaped(sums, (batch, steps, units)))

    def step(inner: Context, row: relax.Expr, states: Sequence[relax.Expr]) -> Sequence[relax.Expr]:
        product = parts.RowWeights.of([recurrent], asymmetric=asymmetric).product(inner, states[0])
        both = inner.builder.emit(R.add(row, product))
        return [inner.builder.emit(bent(inner, options.activation, both))]

    outputs, new = parts.run_steps(ctx, sums, [hidden], step)
    ctx.values.change(kept, reshaped(new, kept.shape))
    return way.end(ctx, outputs, rank)


def _check(ctx: Context, at: RnnPlaces, rank: int) -> None:
    """Raise unless the operands fit one another."""
    data = ctx.tensor(at.data)
    weights, recurrent, bias = (ctx.tensor(at.weights + index) for index in range(3))
    shape = ctx.input(at.data).shape
    check_real([ctx.output()])
    if data.dtype != "float32" or weights.dtype not in _DTYPES:
        raise UnsupportedError(f"of {data.dtype} data and {weights.dtype} weights")
    if len(shape) != rank or 0 in shape:
        raise QnnError(f"{data.label} has shape {shape}, needs {rank} dimensions with elements")
    if len(weights.shape) != 2 or not weights.shape[0]:
        raise QnnError(f"{weights.label} has shape {weights.shape}, needs 2 dimensions")
    units = weights.shape[0]
    matrices = [(weights, shape[-1]), (recurrent, units)]
    if at.beside is not None:
        matrices.append((ctx.tensor(at.beside[1]), ctx.input(at.beside[0]).shape[-1]))
    parts.check_constants([tensor for tensor, _ in matrices], weights.dtype)
    parts.check_constants([bias], "float32")
    parts.check_shapes(
        [*((each, (units, columns)) for each, columns in matrices), (bias, (units,))]
    )


# One layer forward, then one backward. A second sequence has weights for both or for none.
_LSTMS = (Places((48,), 0, 1, 5, 9, 12, 16, 35), Places((48,), 0, 18, 22, 26, 29, 33, 37))
_LSTM_BESIDE, _LSTM_WEIGHTS = 39, (40, 44)
_FORGET = 1  # the first gate that each LSTM has
_RNNS = (RnnPlaces(0, 1), RnnPlaces(0, 5))
_RNN_BESIDE, _RNN_WEIGHTS = 9, (10, 11)


@converter("BIDIRECTIONAL_SEQUENCE_LSTM")
def convert_bidirectional_lstm(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Run one LSTM over a sequence forwards, and another one backwards."""
    options = ctx.options(layers.BidirectionalSequenceLSTMOptions)
    if ctx.tensor(0).dtype != "float32":
        raise UnsupportedError(f"of {ctx.tensor(0).dtype} data")
    if options.merge_outputs and not options.time_major and ctx.input(0).shape[0] > 1:
        raise UnsupportedError(
            "of several images with one result: LiteRT looks for their states beyond the tensors"
        )
    results = []
    indices = [weights + _FORGET for weights in _LSTM_WEIGHTS]
    data, has_weights = _sequences(ctx, _LSTM_BESIDE, indices)
    for number, at in enumerate(_LSTMS):
        beside = (_LSTM_BESIDE, _LSTM_WEIGHTS[number]) if has_weights else None
        way = parts.Way(options.time_major, backward=bool(number))
        results.append(run_lstm(ctx, options, replace(at, data=data[number], beside=beside), way))
    return _joined(ctx, results, merged=options.merge_outputs)


@converter("BIDIRECTIONAL_SEQUENCE_RNN")
def convert_bidirectional_rnn(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Run one plain recurrent layer over a sequence forwards, and another one backwards."""
    options = ctx.options(layers.BidirectionalSequenceRNNOptions)
    results = []
    data, has_weights = _sequences(ctx, _RNN_BESIDE, _RNN_WEIGHTS)
    _check_rnn(ctx, data, has_weights=has_weights, time_major=options.time_major)
    for number, at in enumerate(_RNNS):
        beside = (_RNN_BESIDE, _RNN_WEIGHTS[number]) if has_weights else None
        way = parts.Way(options.time_major, backward=bool(number))
        at = replace(at, data=data[number], beside=beside)
        results.append(run_rnn(ctx, options, at, way, 3))
    return _joined(ctx, results, merged=options.merge_outputs)


def _check_rnn(ctx: Context, data: tuple[int, int], *, has_weights: bool, time_major: bool) -> None:
    """Raise if LiteRT reads wrong numbers, or reads beyond its tensors."""
    if time_major and ctx.tensor(1).dtype != "float32":
        raise UnsupportedError("hybrid, with steps before the batch: LiteRT mixes up both")
    if data[1] and not time_major:
        raise UnsupportedError("a second sequence without weights, with the batch before steps")
    if has_weights and ctx.input(_RNN_BESIDE).shape[-1:] != ctx.input(0).shape[-1:]:
        raise UnsupportedError("a second sequence of another size: LiteRT mixes up both")


def _sequences(ctx: Context, beside: int, weights: Sequence[int]) -> tuple[tuple[int, int], bool]:
    """Return the input of each layer, and whether both also read a second sequence.

    The backward layer reads a second sequence without weights.

    Raises:
        QnnError: there are weights for one layer alone.
    """
    has = {ctx.has(index) for index in weights}
    if len(has) > 1:
        raise QnnError("a second sequence with weights for one of the two layers")
    has_weights = has.pop()
    return (0, beside if ctx.has(beside) and not has_weights else 0), has_weights


def _joined(
    ctx: Context, results: list[relax.Expr], *, merged: bool
) -> relax.Expr | list[relax.Expr]:
    needed = 1 if merged else len(results)
    if len(ctx.operator.outputs) != needed:
        raise QnnError(f"needs {needed} outputs, got {len(ctx.operator.outputs)}")
    return R.concat([ctx.emit(each) for each in results], axis=2) if merged else results
