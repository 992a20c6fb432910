"""An LSTM in integers, int8 beside int16 cells; and the basic kernel of uint8 or float32."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor, reshaped
from frontends.tflite.converters.fixed_point import divided, product, saturated
from frontends.tflite.converters.layers.hybrid import SUMS
from frontends.tflite.converters.recurrent import parts
from frontends.tflite.converters.recurrent.lstm_operands import LstmOperands
from frontends.tflite.model import Tensor
from qnn_ops import float_function, quantized_dense, quantized_lookup, quantized_lstm
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError
from qnn_ops.quantized.lstm import EXTRAS
from qnn_ops.tables.gates import GATE_BITS, logistic_table, tanh_table
from qnn_ops.tables.tables_int16 import power_of_two

DATA, HIDDEN, WEIGHTS, BIAS, CELLS = range(5)
_GATES = 4
_DTYPES = ["uint8", "uint8", "uint8", "int32", "int16", "uint8", "int16", "uint8", "int16"]
_MIDDLE = 128  # the zero point of uint8; LiteRT ignores the tensors' own
_GATE_ONE = 2 ** (15 - GATE_BITS)
_CELL_BITS = 4
_FUNCTIONS = ("logistic", "tanh", "logistic", "logistic")
_INTERMEDIATES = 5
_GATE_SCALE = np.float32(2.0**-12)
_ONE = 2.0**-15


def basic_lstm(ctx: Context) -> list[relax.Expr]:
    """Return the hidden values, the cells, the gates' operands, and their sums.

    Source of the arithmetic: LstmCell of TFLite's kernels/internal/optimized/optimized_ops.h for
    uint8, with cells of 4 integer bits.
    """
    units = check_basic(ctx, _DTYPES)
    _check_cells(ctx)
    rows: Any = np.concatenate([ctx.array(DATA), ctx.array(HIDDEN)], 1)
    point = per_tensor(ctx.tensor(WEIGHTS))[1]
    weights, bias = ctx.weights(WEIGHTS).expr, ctx.weights(BIAS).expr
    encodings = (1.0, _MIDDLE, 1.0, point, *SUMS[4:])
    sums = ctx.emit(quantized_dense(rows.expr, weights, *encodings, bias=bias))
    both = _scaled(ctx, sums, per_tensor(ctx.tensor(BIAS))[0])

    def bent(table: Array, values: Any) -> Any:
        constant = ctx.builder.add_constant(ctx.builder.fresh("table"), table)
        return values.to(quantized_lookup(values.expr, constant)).astype("int64")

    tables = logistic_table(), tanh_table(GATE_BITS), logistic_table(), logistic_table()
    gates = parts.gates_of(both, _GATES, units)
    let_in, proposed, forget, given = map(bent, tables, gates)
    added = divided(_product(let_in, proposed), _CELL_BITS)
    old = ctx.array(CELLS).astype("int64")
    kept = saturated(added + _product(forget, old), "int16")
    shown = _product(given, bent(tanh_table(_CELL_BITS), kept))
    short: Any = np.clip(divided(shown, 8), -_MIDDLE, _MIDDLE - 1)
    result = (short + _MIDDLE).astype("uint8")
    return _kept(ctx, [result, kept, rows, both])


def _kept(ctx: Context, results: list[Any]) -> list[relax.Expr]:
    """Return all results; the first two change the states that are variables."""
    for position, value in zip((HIDDEN, CELLS), results, strict=False):
        tensor = ctx.tensor(position)
        if tensor.is_variable:
            ctx.values.change(tensor, reshaped(value.expr, tensor.shape))
    return [each.expr for each in results]


def _scaled(ctx: Context, sums: relax.Expr, scale: float) -> Any:
    """Return the sums as Q3.12: multiplied by 31 bits and shifted, each rounded half up."""
    multiplier, shift = (int(part) for part in quantize_multiplier(np.float64(scale * _GATE_ONE)))
    _check_sums(ctx, max(shift, 0))
    wide = ctx.builder.array(sums).astype("int64") << max(shift, 0)
    scaled = product(wide, multiplier)
    if shift < 0:
        scaled = (scaled + (1 << (-shift - 1))) >> -shift
    return saturated(scaled, "int16")


def _check_sums(ctx: Context, shift: int) -> None:
    """Raise if a sum, shifted to the left, can leave int32."""
    weights, bias = (ctx.constant(index).astype(np.float64) for index in (WEIGHTS, BIAS))
    sizes = np.abs(weights - per_tensor(ctx.tensor(WEIGHTS))[1]).sum(axis=1)
    reach = float((_MIDDLE * sizes + np.abs(bias)).max()) * 2.0**shift
    if reach >= 2**31:
        raise UnsupportedError(f"sums that can reach {reach:.0f}, which int32 does not hold")


def _product(a: Any, b: Any) -> Any:
    """Multiply Q0.15: the high half of 2·a·b, rounded half up."""
    return (a * b + (1 << 14)) >> 15


def check_basic(ctx: Context, needed: Sequence[str]) -> int:
    """Return the number of units.

    Args:
        ctx: the operator.
        needed: the types of its operands and results.

    Raises:
        QnnError: operands and results do not fit together.
        UnsupportedError: they have other types.
    """
    if len(ctx.operator.inputs) != CELLS + 1 or len(ctx.operator.outputs) != _GATES:
        counts = len(ctx.operator.inputs), len(ctx.operator.outputs)
        raise QnnError(f"needs 5 inputs and 4 outputs, got {counts[0]} and {counts[1]}")
    if ctx.options.activation != "TANH":
        raise UnsupportedError("the basic kernel with another activation than TANH")
    operands = [ctx.input(index) for index in range(CELLS + 1)]
    data, hidden, weights, bias, cells = operands
    dtypes = [operand.dtype for operand in operands]
    dtypes += [ctx.output(index).dtype for index in range(_GATES)]
    if dtypes != list(needed):
        raise UnsupportedError(f"the basic kernel of {', '.join(dtypes)}")
    if len(data.shape) != 2 or 0 in data.shape:
        raise QnnError(f"{data.label} has shape {data.shape}, needs 2 dimensions")
    batch, size = data.shape
    units = bias.shape[0] // _GATES if bias.shape else 0
    if not units:
        raise QnnError(f"{bias.label} has shape {bias.shape}, needs {_GATES} numbers for each unit")
    state, matrix = (batch, units), (_GATES * units, size + units)
    parts.check_shapes([(hidden, state), (weights, matrix), (bias, matrix[:1]), (cells, state)])
    return units


def _check_cells(ctx: Context) -> None:
    for tensor in (ctx.tensor(CELLS), ctx.output(1)):
        if power_of_two(per_tensor(tensor)[0]) != _CELL_BITS - 15:
            raise UnsupportedError(f"{tensor.label} has another scale than 2^-11")


def float_basic_lstm(ctx: Context) -> list[relax.Expr]:
    """Return the hidden values, the cells, the gates' operands, and their sums.

    Source of the arithmetic: LstmCell of TFLite's kernels/internal/optimized/optimized_ops.h for
    float32.
    """
    units = check_basic(ctx, ["float32"] * 9)
    parts.check_constants([ctx.tensor(index) for index in (WEIGHTS, BIAS)], "float32")
    rows = np.concatenate([ctx.array(DATA), ctx.array(HIDDEN)], 1)
    both = parts.products_of_rows(ctx, [ctx.tensor(WEIGHTS)], rows) + ctx.array(BIAS)

    def bent(values: Any, name: str) -> Any:
        return values.to(float_function(values.expr, name))

    gates = parts.gates_of(both, _GATES, units)
    let_in, proposed, forget, given = map(bent, gates, _FUNCTIONS)
    new = let_in * proposed + forget * ctx.array(CELLS)
    return _kept(ctx, [given * bent(new, "tanh"), new, rows, both])


def integer_lstm(
    ctx: Context,
    operands: LstmOperands,
    data: relax.Expr,
    hidden: relax.Expr,
    cells: relax.Expr,
) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """Return the outputs of all steps, the new hidden values and the new cells.

    Source of the scales: PopulateQuantizedLstmParams8x8_16 of TFLite's
    kernels/unidirectional_sequence_lstm.cc, in float32 except for powers of two.

    Args:
        ctx: the operator.
        operands: of it.
        data: int8, [batch, steps, size].
        hidden: int8, [batch, outputs].
        cells: int16, [batch, cells].
    """
    options, steps = ctx.options, spec_of(data).shape[1]
    _check(ctx, operands, data, time_major=options.time_major)
    *gate_tensors, inner = (ctx.model.tensors[index] for index in ctx.operator.intermediates)
    exponent = _exponent(operands.cells)
    hidden_scale, hidden_point = per_tensor(operands.hidden)
    inner_scale, inner_point = per_tensor(inner)
    data_scale, data_point = per_tensor(ctx.tensor(0))
    # The first tensor belongs to the input gate, which may be left out.
    scales = [
        np.float32(per_tensor(tensor)[0]) if operands.norm else _GATE_SCALE
        for tensor in gate_tensors[-len(operands.gates) :]
    ]

    def multipliers(tensors: Sequence[Tensor], scale: float) -> list[float]:
        return [
            float(_scale(tensor) * np.float32(scale) / gate)
            for tensor, gate in zip(tensors, scales, strict=True)
        ]

    bias = None if operands.norm else _joined(ctx, operands.biases)
    weights = _joined(ctx, operands.weights)
    sums = quantized_dense(data, weights, 1.0, data_point, *SUMS[2:], bias=bias)
    extras = _extras(ctx, operands, inner_point)
    seen = [s for s, gate in zip(scales, operands.gates, strict=True) if gate != "cell"]
    step = 2.0**exponent
    projection = 1.0
    if operands.projection:
        first = _scale(operands.projection[0]) * np.float32(inner_scale)
        projection = float(first / np.float32(hidden_scale))
    result = ctx.emit(
        quantized_lstm(
            ctx.emit(sums),
            hidden,
            cells,
            _joined(ctx, operands.recurrent),
            list(extras.values()),
            extra_names=list(extras),
            input_multipliers=multipliers(operands.weights, data_scale),
            recurrent_multipliers=multipliers(operands.recurrent, hidden_scale),
            peephole_multipliers=[
                float(np.float32(step * float(_scale(tensor)) / float(gate)))
                for tensor, gate in zip(operands.peepholes, seen, strict=False)
            ],
            norm_scales=[float(_scale(tensor)) for tensor in operands.norm],
            cell_exponent=exponent,
            cell_clip=_clip(options.cell_clip, per_tensor(operands.cells)[0], 2**15 - 1),
            hidden_zero_point=hidden_point,
            product_multiplier=float(np.float32(_ONE / inner_scale * _ONE)),
            product_zero_point=-inner_point if operands.projection else inner_point,
            projection_multiplier=projection,
            projection_clip=_clip(options.proj_clip, per_tensor(ctx.output())[0], 2**7 - 1),
        )
    )

    def part(first: int, last: int) -> relax.Expr:
        return ctx.emit(R.strided_slice(result, [1], [first], [last]))

    end = steps * operands.outputs
    results = (part(0, end), part(end - operands.outputs, end), part(end, end + operands.count))
    outputs, last = (ctx.emit(R.astype(each, "int8")) for each in results[:2])
    return outputs, last, results[2]


def _check(ctx: Context, operands: LstmOperands, data: relax.Expr, *, time_major: bool) -> None:
    if len(ctx.operator.intermediates) != _INTERMEDIATES:
        raise QnnError(f"needs 5 intermediates, got {len(ctx.operator.intermediates)}")
    needed = {
        "int8": [*operands.weights, *operands.recurrent, *operands.projection[:1]],
        "int16": [*operands.peepholes, *operands.norm],
        "int32": [*operands.biases, *operands.projection[1:]],
    }
    for dtype, tensors in needed.items():
        parts.check_constants(tensors, dtype)
    if operands.peepholes and operands.outputs != operands.count:
        # LiteRT uses the number of outputs in place of the number of cells here.
        batch = spec_of(data).shape[0]
        if operands.outputs > operands.count or (time_major and batch > 1):
            raise UnsupportedError(
                f"peepholes of {operands.count} cells with {operands.outputs} outputs"
            )


def _exponent(cells: Tensor) -> int:
    scale = per_tensor(cells)[0]
    exponent = power_of_two(scale)
    if exponent is None:
        raise UnsupportedError(f"the state {cells.label} has the scale {scale}, no power of two")
    if not -15 <= exponent <= -9:
        raise UnsupportedError(f"the state {cells.label} has the scale 2^{exponent}, not -15 to -9")
    return exponent


def _extras(ctx: Context, operands: LstmOperands, inner_point: int) -> dict[str, relax.Expr]:
    """Return the tensors that not every LSTM has, by name."""
    arrays: dict[str, tuple[Tensor, Array]] = {}
    if operands.peepholes:
        peepholes = np.stack([tensor.array for tensor in operands.peepholes])
        peepholes[:, operands.outputs :] = 0  # LiteRT does not reach them
        arrays["peepholes"] = operands.peepholes[0], peepholes
    if operands.norm:
        for name, tensors in zip(EXTRAS[1:3], (operands.norm, operands.biases), strict=True):
            arrays[name] = tensors[0], np.stack([tensor.array for tensor in tensors])
    if operands.projection:
        weights, *bias = (tensor.array for tensor in operands.projection)
        sums = weights.sum(axis=1, dtype=np.int64) * inner_point + sum(each for each in bias)
        arrays["projection"] = operands.projection[0], weights
        arrays["projection_bias"] = operands.projection[-1], sums.astype(np.int32)
    return {
        name: ctx.values.add_constant(tensor, f"_{name}", array)
        for name, (tensor, array) in arrays.items()
    }


def _joined(ctx: Context, tensors: Sequence[Tensor]) -> relax.Expr:
    """Join constants with the same columns, or rows of one column, into a parameter."""
    array = np.concatenate([tensor.array for tensor in tensors])
    return ctx.values.add_constant(tensors[0], "_gates", array)


def _scale(tensor: Tensor) -> np.float32:
    return np.float32(per_tensor(tensor)[0])


def _clip(real: float, scale: float, most: int) -> int:
    """Return a clip in steps, rounded towards zero; 0 for none."""
    if real < 0:
        raise QnnError(f"clips at {real}, which is below 0")
    return int(min(np.float32(real) / np.float32(scale), np.float32(most)))
