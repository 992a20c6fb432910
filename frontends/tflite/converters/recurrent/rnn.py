"""RNN, LSTM and similar layers, unidirectional and bidirectional."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_DTYPES = ("float32", "int8", "uint8")


@converter("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def convert_lstm(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Run an LSTM over one step or a sequence, from the state of the previous run."""
    if ctx.operator.code != "LSTM" or not ctx.options.kernel_type:
        return run_lstm(ctx, ALONE)
    return float_basic_lstm(ctx) if ctx.tensor(DATA).dtype == "float32" else basic_lstm(ctx)


def run_lstm(ctx: Context, at: Places) -> relax.Expr:
    """Return the results of one LSTM of an operator, and change its states."""
    operands = LstmOperands.of(ctx, at)
    data = ctx.input(at.data)
    dtypes = data.dtype, operands.weights[-1].dtype
    if dtypes not in _RULES:
        raise UnsupportedError(f"of {dtypes[0]} data and {dtypes[1]} weights")
    rule, kept, counted = _RULES[dtypes]
    if 0 in data.shape:
        raise QnnError(f"{data.label} has no elements")
    rows = parts.begin(ctx, at.data, at.backward)
    batch, steps, _ = spec_of(rows).shape
    hidden = parts.state_of(ctx, operands.hidden, batch, operands.outputs, kept)
    cells = parts.state_of(ctx, operands.cells, batch, operands.count, counted)
    if ctx.output().dtype != dtypes[0]:
        raise UnsupportedError(f"an {ctx.output().dtype} result of {dtypes[0]} data")
    others = {}
    if at.beside is not None:
        others["beside"] = parts.begin_beside(ctx, at.beside[0], at.backward, rows)
    results = rule(ctx, operands, rows, hidden, cells, **others)
    for tensor, new in zip((operands.hidden, operands.cells), results[1:], strict=True):
        ctx.values.change(tensor, reshaped(new, tensor.shape))
    result = ctx.emit(reshaped(results[0], (batch, steps, operands.outputs)))
    return parts.end(ctx, result, len(data.shape), at.backward)


_RULES = {
    ("int8", "int8"): (integer_lstm, "int8", "int16"),
    **{("float32", weights): (float_lstm, "float32", "float32") for weights in _DTYPES},
}
"""By types of data and weights: the rule, and the types of hidden values and cells."""


@converter("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def convert_rnn(ctx: Context) -> relax.Expr:
    """Run a plain recurrent layer over one step or a sequence, from the previous run's state."""
    return run_rnn(ctx, Places(0, 1))


def run_rnn(ctx: Context, at: Places) -> relax.Expr:
    """Return the results of one layer of an operator, and change its hidden values.

    Source of the arithmetic: RnnBatchStep of TFLite's kernels/internal/kernel_utils.cc.
    """
    weights, recurrent, bias, kept = (ctx.tensor(at.weights + index) for index in range(4))
    rank = 2 if ctx.operator.code == "RNN" else 3
    _check(ctx, at, rank)
    sequence = parts.begin(ctx, at.data, at.backward)
    batch, steps, _ = spec_of(sequence).shape
    hidden = parts.state_of(ctx, kept, batch, bias.shape[0], "float32")
    sums = parts.products_of_steps(ctx, [weights], sequence) + parts.real_of(bias)
    if at.beside is not None:
        beside = parts.begin_beside(ctx, at.beside[0], at.backward, sequence)
        sums = sums + parts.products_of_steps(ctx, [ctx.tensor(at.beside[1])], beside)

    def step(inner: Context, row: Any, states: Sequence[Any]) -> Sequence[Any]:
        both = row + parts.products_of_rows(inner, [recurrent], states[0])
        return [bent(inner, ctx.options.activation, both)]

    outputs, new = parts.run_steps(ctx, sums, steps, [hidden], step)
    ctx.values.change(kept, reshaped(new, kept.shape))
    return parts.end(ctx, outputs, rank, at.backward)


def _check(ctx: Context, at: Places, rank: int) -> None:
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
_LSTMS = (
    Places(0, 1, 5, 9, 12, 16, 35, counts=(48,), beside=(39, 40)),
    Places(0, 18, 22, 26, 29, 33, 37, counts=(48,), beside=(39, 44), backward=True),
)
_RNNS = (Places(0, 1, beside=(9, 10)), Places(0, 5, beside=(9, 11), backward=True))
_FORGET = 1  # the first gate that each LSTM has


@converter("BIDIRECTIONAL_SEQUENCE_LSTM")
def convert_bidirectional_lstm(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Run one LSTM over a sequence forwards, and another one backwards."""
    options = ctx.options
    if ctx.tensor(0).dtype != "float32":
        raise UnsupportedError(f"of {ctx.tensor(0).dtype} data")
    if options.merge_outputs and not options.time_major and ctx.input(0).shape[0] > 1:
        raise UnsupportedError(
            "of several images with one result: LiteRT looks for their states beyond the tensors"
        )
    return _joined(ctx, [run_lstm(ctx, at) for at in _used(ctx, _LSTMS, _FORGET)])


@converter("BIDIRECTIONAL_SEQUENCE_RNN")
def convert_bidirectional_rnn(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Run one plain recurrent layer over a sequence forwards, and another one backwards."""
    places, time_major = _used(ctx, _RNNS), ctx.options.time_major
    # In these cases LiteRT reads wrong numbers, or reads beyond its tensors.
    if time_major and ctx.tensor(1).dtype != "float32":
        raise UnsupportedError("hybrid, with steps before the batch: LiteRT mixes up both")
    if places[1].data and not time_major:
        raise UnsupportedError("a second sequence without weights, with the batch before steps")
    beside = places[1].beside
    if beside and ctx.input(beside[0]).shape[-1:] != ctx.input(0).shape[-1:]:
        raise UnsupportedError("a second sequence of another size: LiteRT mixes up both")
    return _joined(ctx, [run_rnn(ctx, at) for at in places])


def _used(ctx: Context, layers: Sequence[Places], gate: int = 0) -> list[Places]:
    """Return the places of both layers, without the weights of a second sequence if it has none.

    The backward layer reads a second sequence without weights.

    Args:
        ctx: the operator.
        layers: the places with a second sequence.
        gate: the number of the gate that every layer has.

    Raises:
        QnnError: there are weights for one layer alone.
    """
    pairs = [at.beside for at in layers if at.beside]
    has = {ctx.has(weights + gate) for _, weights in pairs}
    if len(has) > 1:
        raise QnnError("a second sequence with weights for one of the two layers")
    if has.pop():
        return [*layers]
    sequence = pairs[0][0] if ctx.has(pairs[0][0]) else 0
    return [replace(at, data=sequence * at.backward, beside=None) for at in layers]


def _joined(ctx: Context, results: list[relax.Expr]) -> relax.Expr | list[relax.Expr]:
    merged = ctx.options.merge_outputs
    needed = 1 if merged else len(results)
    if len(ctx.operator.outputs) != needed:
        raise QnnError(f"needs {needed} outputs, got {len(ctx.operator.outputs)}")
    return R.concat([ctx.emit(each) for each in results], axis=2) if merged else results
