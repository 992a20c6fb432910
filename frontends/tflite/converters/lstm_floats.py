"""An LSTM of float32: with weights of float32, or hybrid, with weights of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, per_tensor, reshaped
from frontends.tflite.converters.hybrid import SUMS, centred, quantized_rows
from frontends.tflite.converters.lstm_operands import LstmOperands
from frontends.tflite.model import Tensor
from frontends.tflite.options import UnidirectionalSequenceLSTMOptions
from qnn_ops import float_function, quantized_dense
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_BYTES = ("int8", "uint8")
_LEAST_VARIANCE = 1e-8


def float_lstm(
    ctx: Context,
    operands: LstmOperands,
    options: UnidirectionalSequenceLSTMOptions,
    data: relax.Expr,
    hidden: relax.Expr,
    cells: relax.Expr,
) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """Return the outputs of all steps, the new hidden values and the new cells.

    Source of the arithmetic: EvalFloat and EvalHybrid of TFLite's kernels/lstm_eval.cc. Several
    steps are a loop, whose turns have the products of hidden values. Gates that are normalized get
    their biases afterwards, the others at first.

    Args:
        ctx: the operator.
        operands: of it.
        options: of it.
        data: float32, [batch, steps, size].
        hidden: float32, [batch, outputs].
        cells: float32, [batch, cells].
    """
    _check(operands, options)
    emit, (batch, steps, size) = ctx.builder.emit, spec_of(data).shape
    rows = emit(reshaped(data, (batch * steps, size)))
    asymmetric = options.asymmetric_quantize_inputs
    weights = _Weights.of(operands.weights, asymmetric=asymmetric)
    sums = weights.product(ctx, rows)
    if not operands.norm:
        bias = np.concatenate([_real(tensor) for tensor in operands.biases])
        sums = emit(R.add(sums, relax.const(bias)))
    columns = spec_of(sums).shape[1]
    step = _Step(operands, options)
    if steps == 1:
        first = emit(reshaped(sums, (batch, columns)))
        new = step.write(ctx, first, hidden, cells)
        return emit(reshaped(new[0], (batch, 1, operands.outputs))), *new
    sums = emit(reshaped(sums, (batch, steps, columns)))
    zeros = relax.const(np.zeros((batch, steps, operands.outputs), np.float32))
    begin = [relax.const(np.zeros(1, np.int32)), sums, hidden, cells, emit(zeros)]
    results = ctx.builder.loop(_condition(ctx, begin, steps), step.body(ctx, begin), begin)
    return results[4], results[2], results[3]


def _check(operands: LstmOperands, options: UnidirectionalSequenceLSTMOptions) -> None:
    if options.activation != "TANH":
        raise UnsupportedError(f"activation {options.activation} of float32 data")
    for clip in (options.cell_clip, options.proj_clip):
        if clip < 0:
            raise QnnError(f"clips at {clip}, which is below 0")
    dtype = operands.weights[-1].dtype
    alike = [*operands.weights, *operands.recurrent, *operands.peepholes, *operands.projection[:1]]
    real = [*operands.biases, *operands.norm, *operands.projection[1:]]
    for tensors, needed in ((alike, dtype), (real, "float32")):
        for tensor in tensors:
            if tensor.dtype != needed:
                raise UnsupportedError(f"{tensor.label} is {tensor.dtype}, needs {needed}")
            if not tensor.is_constant:
                raise QnnError(f"{tensor.label} must be constant")


@dataclass(frozen=True)
class _Weights:
    """Weights of rows, of all gates.

    Attributes:
        array: float32 or int8, [results, size].
        scales: of each result, for int8.
        asymmetric: whether rows that meet int8 have zero points.
    """

    array: Array
    scales: Array | None
    asymmetric: bool

    @classmethod
    def of(cls, tensors: Sequence[Tensor], *, asymmetric: bool) -> _Weights:
        """Join the weights of gates."""
        arrays = [_value(tensor) for tensor in tensors]
        if tensors[0].dtype not in _BYTES:
            return cls(np.concatenate(arrays), None, asymmetric)
        scales = [
            np.full(len(array), per_tensor(tensor)[0], np.float32)
            for tensor, array in zip(tensors, arrays, strict=True)
        ]
        joined = np.concatenate([array.view(np.int8) for array in arrays])
        return cls(joined, np.concatenate(scales), asymmetric)

    def product(self, ctx: Context, rows: relax.Expr) -> relax.Expr:
        """Multiply rows, [count, size], which meet int8 quantized each by itself."""
        emit, count = ctx.builder.emit, spec_of(rows).shape[0]
        name = ctx.builder.fresh("weights")
        if self.scales is None:
            weights = ctx.builder.add_constant(name, np.ascontiguousarray(self.array.T))
            return emit(R.matmul(rows, weights))
        weights = ctx.builder.add_constant(name, self.array)
        quantized = quantized_rows(ctx, rows, count, (count, 1), asymmetric=self.asymmetric)
        sums = emit(quantized_dense(quantized.values, weights, *SUMS))
        steps = centred(ctx, sums, quantized, self.array.sum(axis=1))
        return emit(R.multiply(steps, R.multiply(quantized.scale, relax.const(self.scales))))


def _value(tensor: Tensor) -> Array:
    return np.zeros(tensor.shape, tensor.dtype) if tensor.data is None else tensor.data


def _real(tensor: Tensor) -> Array:
    """Return constants as float32; bytes by their scale."""
    array = _value(tensor)
    if tensor.dtype not in _BYTES:
        return array
    return array.view(np.int8).astype(np.float32) * np.float32(per_tensor(tensor)[0])


def _condition(ctx: Context, begin: Sequence[relax.Expr], steps: int) -> relax.Function:
    """Return the function that tells whether there are steps left."""
    builder = ModuleBuilder(ctx.builder)
    turn, *_ = _parameters(builder, begin)
    return builder.function(
        lambda: [builder.emit(R.less(turn, relax.const(np.array([steps], np.int32))))]
    )


def _parameters(builder: ModuleBuilder, begin: Sequence[relax.Expr]) -> list[relax.Var]:
    specs = [spec_of(each) for each in begin]
    names = ("turn", "sums", "hidden", "cells", "outputs")
    return [
        builder.add_input(builder.fresh(name), spec.shape, spec.dtype)
        for name, spec in zip(names, specs, strict=True)
    ]


@dataclass(frozen=True)
class _Step:
    """Writes a step of an LSTM."""

    operands: LstmOperands
    options: UnidirectionalSequenceLSTMOptions

    def body(self, ctx: Context, begin: Sequence[relax.Expr]) -> relax.Function:
        """Return the function of a turn, which puts its outputs among those of all."""
        inner = replace(ctx, builder=ModuleBuilder(ctx.builder))
        emit = inner.builder.emit
        turn, sums, hidden, cells, outputs = _parameters(inner.builder, begin)
        (batch, steps, rows), count = spec_of(sums).shape, self.operands.outputs

        def convert() -> list[relax.Expr]:
            row = emit(reshaped(emit(R.take(sums, turn, 1, "clip")), (batch, rows)))
            new, kept = self.write(inner, row, hidden, cells)
            places = relax.const(np.arange(steps, dtype=np.int32).reshape(steps, 1))
            row = emit(reshaped(new, (batch, 1, count)))
            made = emit(R.where(emit(R.equal(places, turn)), row, outputs))
            following = emit(R.add(turn, relax.const(np.ones(1, np.int32))))
            return [following, sums, new, kept, made]

        return inner.builder.function(convert)

    def write(
        self, ctx: Context, sums: relax.Expr, hidden: relax.Expr, cells: relax.Expr
    ) -> tuple[relax.Expr, relax.Expr]:
        """Return the new hidden values and cells.

        Args:
            ctx: the operator, with the builder to emit to.
            sums: what the data gives for all gates, [batch, gates · cells].
            hidden: [batch, outputs].
            cells: [batch, cells].
        """
        emit, names, operands = ctx.builder.emit, self.operands.gates, self.operands
        asymmetric = self.options.asymmetric_quantize_inputs
        recurrent = _Weights.of(operands.recurrent, asymmetric=asymmetric)
        both = emit(R.add(sums, recurrent.product(ctx, hidden)))
        gates = {
            name: emit(
                R.strided_slice(both, [1], [place * operands.count], [(place + 1) * operands.count])
            )
            for place, name in enumerate(names)
        }
        seen = [name for name in names if name != "cell"]
        peepholes = dict(zip(seen, operands.peepholes, strict=False))

        def whole(name: str) -> relax.Expr:
            if not operands.norm:
                return gates[name]
            place = names.index(name)
            parts = (relax.const(_real(part[place])) for part in (operands.norm, operands.biases))
            return _normalized(ctx, gates[name], *parts)

        def opened(name: str, seen_cells: relax.Expr) -> relax.Expr:
            if name in peepholes:
                weights = relax.const(_real(peepholes[name]))
                gates[name] = emit(R.add(gates[name], R.multiply(seen_cells, weights)))
            return emit(float_function(whole(name), "logistic"))

        forget = opened("forget", cells)
        one = relax.const(np.float32(1))
        let_in = opened("input", cells) if "input" in names else emit(R.subtract(one, forget))
        proposed = emit(float_function(whole("cell"), "tanh"))
        new = emit(R.add(R.multiply(forget, cells), R.multiply(let_in, proposed)))
        new = _clipped(ctx, new, self.options.cell_clip)
        given = emit(R.multiply(opened("output", new), float_function(new, "tanh")))
        if operands.projection:
            weights = _Weights.of(operands.projection[:1], asymmetric=asymmetric)
            given = weights.product(ctx, given)
            for bias in operands.projection[1:]:
                given = emit(R.add(given, relax.const(_real(bias))))
            given = _clipped(ctx, given, self.options.proj_clip)
        return given, new


def _normalized(
    ctx: Context, sums: relax.Expr, weights: relax.Expr, bias: relax.Expr
) -> relax.Expr:
    """Return a gate's sums, [batch, cells], with a mean of 0 and a deviation of 1, weighed.

    Source: MeanStddevNormalization of TFLite's kernels/internal/reference/portable_tensor_utils.cc.
    """
    emit, count = ctx.builder.emit, relax.const(np.float32(spec_of(sums).shape[1]))

    def mean(values: relax.Expr) -> relax.Expr:
        return emit(R.divide(R.sum(values, [1], keepdims=True), count))

    centred_sums = emit(R.subtract(sums, mean(sums)))
    variance = mean(emit(R.multiply(centred_sums, centred_sums)))
    root = emit(R.sqrt(R.add(variance, relax.const(np.float32(_LEAST_VARIANCE)))))
    inverse = emit(R.divide(relax.const(np.float32(1)), root))
    return emit(R.add(R.multiply(R.multiply(centred_sums, inverse), weights), bias))


def _clipped(ctx: Context, values: relax.Expr, limit: float) -> relax.Expr:
    return ctx.builder.emit(R.clip(values, -limit, limit)) if limit else values
