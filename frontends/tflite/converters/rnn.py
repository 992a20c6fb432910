"""RNN and UNIDIRECTIONAL_SEQUENCE_RNN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.hybrid import check_result
from frontends.tflite.converters.recurrent import (
    RowWeights,
    Way,
    bent,
    check_constants,
    products_of_rows,
    real_of,
    run_steps,
    state_of,
)
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import RNNOptions, SequenceRNNOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_DTYPES = ("float32", "int8", "uint8")


@dataclass(frozen=True)
class RnnPlaces:
    """Where an operator has the operands of a plain recurrent layer.

    Attributes:
        data: the data.
        weights: of the data; after them are those of hidden values, the bias and the hidden values.
        beside: a second sequence and its weights; None where there is none.
    """

    data: int = 0
    weights: int = 1
    beside: tuple[int, int] | None = None


@data_converter("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def convert_rnn(ctx: Context) -> relax.Expr:
    """Run a plain recurrent layer over the steps of a sequence, or one, from where it ended."""
    if ctx.operator.code == "RNN":
        one = ctx.options(RNNOptions)
        options = SequenceRNNOptions(False, one.activation, one.asymmetric_quantize_inputs)
        return run_rnn(ctx, options, RnnPlaces(), Way(time_major=False), 2)
    options = ctx.options(SequenceRNNOptions)
    return run_rnn(ctx, options, RnnPlaces(), Way(options.time_major), 3)


def run_rnn(
    ctx: Context, options: SequenceRNNOptions, at: RnnPlaces, way: Way, rank: int
) -> relax.Expr:
    """Return the results of one layer of an operator, and change its hidden values.

    Source of the arithmetic: RnnBatchStep of TFLite's kernels/internal/kernel_utils.cc.

    Args:
        ctx: the operator.
        options: of it.
        at: where the operands are.
        way: how it goes over its data.
        rank: of the data.
    """
    weights, recurrent, bias, kept = (ctx.tensor(at.weights + place) for place in range(4))
    _check(ctx, at, rank)
    emit, units, asymmetric = ctx.builder.emit, bias.shape[0], options.asymmetric_quantize_inputs
    sequence = way.begin(ctx, at.data)
    batch, steps, _ = spec_of(sequence).shape
    hidden = state_of(ctx, kept, batch, units, "float32")
    sums = products_of_rows(ctx, [weights], sequence, asymmetric=asymmetric)
    sums = emit(R.add(sums, relax.const(real_of(bias))))
    if at.beside is not None:
        beside, weights_beside = way.begin_beside(ctx, at.beside[0], sequence), at.beside[1]
        more = products_of_rows(ctx, [ctx.tensor(weights_beside)], beside, asymmetric=asymmetric)
        sums = emit(R.add(sums, more))
    sums = emit(reshaped(sums, (batch, steps, units)))

    def step(inner: Context, row: relax.Expr, states: Sequence[relax.Expr]) -> Sequence[relax.Expr]:
        product = RowWeights.of([recurrent], asymmetric=asymmetric).product(inner, states[0])
        both = inner.builder.emit(R.add(row, product))
        return [inner.builder.emit(bent(inner, options.activation, both))]

    outputs, new = run_steps(ctx, sums, [hidden], step)
    ctx.values.change(kept, reshaped(new, kept.shape))
    return way.end(ctx, outputs, rank)


def _check(ctx: Context, at: RnnPlaces, rank: int) -> None:
    """Raise unless the operands fit one another."""
    data = ctx.tensor(at.data)
    weights, recurrent, bias = (ctx.tensor(at.weights + place) for place in range(3))
    shape = ctx.input(at.data).shape
    check_result(ctx)
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
    check_constants([tensor for tensor, _ in matrices], weights.dtype)
    check_constants([bias], "float32")
    needed = [*((tensor, (units, columns)) for tensor, columns in matrices), (bias, (units,))]
    for tensor, wanted in needed:
        if tensor.shape != wanted:
            raise QnnError(f"{tensor.label} has shape {tensor.shape}, needs {wanted}")
