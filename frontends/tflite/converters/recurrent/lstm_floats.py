"""An LSTM of float32, with weights of float32 or of bytes (hybrid)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.layers.hybrid import bent
from frontends.tflite.converters.recurrent.lstm_operands import LstmOperands
from frontends.tflite.converters.recurrent.parts import (
    check_constants,
    gates_of,
    products_of_rows,
    products_of_steps,
    real_of,
    run_steps,
)
from qnn_ops import float_function
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_LEAST_VARIANCE = 1e-8


def float_lstm(
    ctx: Context,
    operands: LstmOperands,
    data: relax.Expr,
    hidden: relax.Expr,
    cells: relax.Expr,
    beside: relax.Expr | None = None,
) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """Return the outputs of all steps, the new hidden values and the new cells.

    Source of the arithmetic: EvalFloat and EvalHybrid of TFLite's kernels/lstm_eval.cc. Several
    steps are a loop, whose iterations compute the products of hidden values. Normalized gates get
    their biases afterwards, other gates at first.

    Args:
        ctx: the operator.
        operands: of it.
        data: float32, [batch, steps, size].
        hidden: float32, [batch, outputs].
        cells: float32, [batch, cells].
        beside: a second sequence, in the data's form, with weights of its own.
    """
    _check(ctx, operands)
    sums = products_of_steps(ctx, operands.weights, data)
    if beside is not None:
        sums = sums + products_of_steps(ctx, operands.beside, beside)
    if not operands.norm:
        sums = sums + np.concatenate([real_of(tensor) for tensor in operands.biases])
    steps, states = spec_of(data).shape[1], (hidden, cells)
    outputs, hidden, cells = run_steps(ctx, sums, steps, states, partial(_step, operands))
    return outputs, hidden, cells


def _check(ctx: Context, operands: LstmOperands) -> None:
    options = ctx.options
    if options.activation == "NONE" and operands.weights[-1].dtype == "float32":
        raise UnsupportedError("no activation: LiteRT then multiplies by what memory held")
    for clip in (options.cell_clip, options.proj_clip):
        if clip < 0:
            raise QnnError(f"clips at {clip}, which is below 0")
    alike = [*operands.weights, *operands.recurrent, *operands.peepholes, *operands.projection[:1]]
    check_constants([*alike, *operands.beside], operands.weights[-1].dtype)
    check_constants([*operands.biases, *operands.norm, *operands.projection[1:]], "float32")


def _step(
    operands: LstmOperands, ctx: Context, sums: Any, states: Sequence[Any]
) -> tuple[Any, Any]:
    """Emit one step, and return the new hidden values and cells.

    Args:
        operands: of the operator.
        ctx: the operator, with the builder to emit to.
        sums: products of the data for all gates, [batch, gates · cells], an ``Expression``.
        states: hidden values, [batch, outputs], and cells, [batch, cells].
    """
    hidden, cells = states
    names, options = operands.gates, ctx.options
    both = sums + products_of_rows(ctx, operands.recurrent, hidden)
    gates = dict(zip(names, gates_of(both, len(names), operands.count), strict=True))
    seen = [name for name in names if name != "cell"]
    peepholes = dict(zip(seen, operands.peepholes, strict=False))

    def whole(name: str) -> Any:
        if not operands.norm:
            return gates[name]
        index = names.index(name)
        parts = (real_of(part[index]) for part in (operands.norm, operands.biases))
        return _normalized(gates[name], *parts)

    def opened(name: str, seen_cells: Any) -> Any:
        if name in peepholes:
            gates[name] = gates[name] + seen_cells * real_of(peepholes[name])
        return cells.to(float_function(whole(name).expr, "logistic"))

    forget = opened("forget", cells)
    let_in = opened("input", cells) if "input" in names else 1 - forget
    proposed = bent(ctx, options.activation, whole("cell"))
    new = _clipped(forget * cells + let_in * proposed, options.cell_clip)
    # Without an activation LiteRT uses the cell gate's result, not the cells.
    is_bent = options.activation != "NONE"
    seen_new = bent(ctx, options.activation, new) if is_bent else proposed
    given = opened("output", new) * seen_new
    if operands.projection:
        given = products_of_rows(ctx, operands.projection[:1], given)
        for bias in operands.projection[1:]:
            given = given + real_of(bias)
        given = _clipped(given, options.proj_clip)
    return given, new


def _normalized(sums: Any, weights: Array, bias: Array) -> Any:
    """Return a gate's sums, [batch, cells], normalized to mean 0 and deviation 1, and weighted.

    Source: MeanStddevNormalization of TFLite's kernels/internal/reference/portable_tensor_utils.cc.
    """

    def mean(values: Any) -> Any:
        return values.sum(1, np.float32, True) / values.shape[1]

    centred = sums - mean(sums)
    inverse = 1 / np.sqrt(mean(centred * centred) + _LEAST_VARIANCE)
    return centred * inverse * weights + bias


def _clipped(values: Any, limit: float) -> Any:
    return np.clip(values, -limit, limit) if limit else values
