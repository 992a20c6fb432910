"""RNN and UNIDIRECTIONAL_SEQUENCE_RNN."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.hybrid import check_result
from frontends.tflite.converters.recurrent import (
    RowWeights,
    bent,
    check_constants,
    real_of,
    run_steps,
    state_of,
    turned,
)
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import RNNOptions, SequenceRNNOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_WEIGHTS, _RECURRENT, _BIAS, _HIDDEN = 1, 2, 3, 4
_DTYPES = ("float32", "int8", "uint8")


@data_converter("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def convert_rnn(ctx: Context) -> relax.Expr:
    """Run a plain recurrent layer over the steps of a sequence, or one, from where it ended.

    Source of the arithmetic: RnnBatchStep of TFLite's kernels/internal/kernel_utils.cc.
    """
    is_sequence = ctx.operator.code != "RNN"
    options = ctx.options(SequenceRNNOptions) if is_sequence else ctx.options(RNNOptions)
    time_major = isinstance(options, SequenceRNNOptions) and options.time_major
    _check(ctx, 3 if is_sequence else 2)
    emit, (data, units) = ctx.builder.emit, (ctx.input(0), ctx.tensor(_WEIGHTS).shape[0])
    shape, asymmetric = data.shape, options.asymmetric_quantize_inputs
    sequence = data.expr if is_sequence else emit(reshaped(data.expr, (shape[0], 1, shape[1])))
    sequence = turned(ctx, sequence, time_major=time_major)
    batch, steps, size = spec_of(sequence).shape
    hidden = state_of(ctx, ctx.tensor(_HIDDEN), batch, units, "float32")
    weights, recurrent = (
        RowWeights.of([ctx.tensor(place)], asymmetric=asymmetric)
        for place in (_WEIGHTS, _RECURRENT)
    )
    rows = emit(reshaped(sequence, (batch * steps, size)))
    sums = emit(R.add(weights.product(ctx, rows), relax.const(real_of(ctx.tensor(_BIAS)))))
    sums = emit(reshaped(sums, (batch, steps, units)))

    def step(inner: Context, row: relax.Expr, states: Sequence[relax.Expr]) -> Sequence[relax.Expr]:
        both = inner.builder.emit(R.add(row, recurrent.product(inner, states[0])))
        return [inner.builder.emit(bent(options.activation, both))]

    outputs, new = run_steps(ctx, sums, [hidden], step)
    ctx.values.change(ctx.tensor(_HIDDEN), reshaped(new, ctx.tensor(_HIDDEN).shape))
    if not is_sequence:
        return reshaped(outputs, (batch, units))
    return turned(ctx, outputs, time_major=time_major)


def _check(ctx: Context, rank: int) -> None:
    """Raise unless the operands fit one another."""
    data, weights, recurrent = (ctx.tensor(place) for place in (0, _WEIGHTS, _RECURRENT))
    shape = ctx.input(0).shape
    check_result(ctx)
    if data.dtype != "float32" or weights.dtype not in _DTYPES:
        raise UnsupportedError(f"of {data.dtype} data and {weights.dtype} weights")
    if len(shape) != rank or 0 in shape:
        raise QnnError(f"{data.label} has shape {shape}, needs {rank} dimensions with elements")
    if len(weights.shape) != 2 or not weights.shape[0]:
        raise QnnError(f"{weights.label} has shape {weights.shape}, needs 2 dimensions")
    units = weights.shape[0]
    bias = ctx.tensor(_BIAS)
    check_constants([weights, recurrent], weights.dtype)
    check_constants([bias], "float32")
    for tensor, needed in (
        (weights, (units, shape[-1])),
        (recurrent, (units, units)),
        (bias, (units,)),
    ):
        if tensor.shape != needed:
            raise QnnError(f"{tensor.label} has shape {tensor.shape}, needs {needed}")
