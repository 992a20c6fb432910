"""The steps of a long short-term memory (LSTM) in integers."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
)
from qnn_ops.arithmetic.rounding import check_multiplier
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError
from qnn_ops.tables.gates import GATE_BITS, MOST_BITS, MOST_SCALE, ONE, logistic, normalized, tanh

GATES = ("input", "forget", "cell", "output")
"""The gates in the order in which tensors have them. The first one may be left out."""

EXTRAS = ("peepholes", "norm_weights", "norm_bias", "projection", "projection_bias")
"""The optional tensors of an LSTM. The last four come in pairs."""

_PAIRS = (EXTRAS[1:3], EXTRAS[3:])
_LOWEST_EXPONENT = -15


@operator(traits=FIXED, overflows=False)
def quantized_lstm(
    sums: Annotated[relax.Expr, declared.Tensor((), 3)],
    hidden: relax.Expr,
    cell: Annotated[relax.Expr, declared.Tensor((), 2)],
    weights: Annotated[relax.Expr, declared.Tensor((), 2)],
    extras: Sequence[relax.Expr] | relax.Expr,
    extra_names: declared.Names,
    input_multipliers: declared.Doubles,
    recurrent_multipliers: declared.Doubles,
    peephole_multipliers: declared.Doubles,
    norm_scales: declared.Doubles,
    cell_exponent: declared.Int,
    cell_clip: declared.Int,
    hidden_zero_point: declared.OnePoint,
    product_multiplier: declared.Double,
    product_zero_point: declared.Int,
    projection_multiplier: declared.Double = 1.0,
    projection_clip: declared.Int = 0,
) -> None:
    """Run the steps of an LSTM, given the products of the data with its gates' weights.

    A gate adds, with saturation, its sums of the data, of the hidden values of the step before and,
    with peepholes, of the cells, each scaled to Q3.12. The sum may be normalized. Then the logistic
    function is applied; the cell gate applies tanh. A missing input gate is one less the forget
    gate. The output gate reads the new cells, the other gates the old ones. An output is the output
    gate times tanh of the cells, or a projection of these products.

    Source of the arithmetic: LstmStepInteger8x8_16 of TFLite's kernels/lstm_eval.cc, with the
    functions of qnn_ops.tables.gates and qnn_ops.tables.gates. Sums of products wrap in int32, and
    multipliers scale with gemmlowp's two roundings.

    Args:
        sums: int32, [batch, steps, gates * cells]: for each gate the products of the data with its
            weights, plus its bias unless it is normalized; gates in the order of ``GATES``, four or
            the last three.
        hidden: int8, [batch, outputs]: the outputs of the step before.
        cell: int16, [batch, cells].
        weights: int8, [gates * cells, outputs], of the hidden values.
        extras: tensors by ``extra_names``, in the order of ``EXTRAS``: peepholes, int16
            [gates - 1, cells], of all gates but the cell's; norm_weights int16 and norm_bias int32,
            [gates, cells]; projection, int8 [outputs, cells], and projection_bias, int32 [outputs].
        extra_names: the names of ``extras``; without a projection there is an output for each cell.
        input_multipliers: multipliers of ``sums``, for each gate.
        recurrent_multipliers: multipliers of the hidden values' sums, for each gate.
        peephole_multipliers: multipliers of the cells' products, for each gate with peepholes.
        norm_scales: float32 scales of the norm's weights, for each gate; empty without a norm.
        cell_exponent: a step of the cells is 2^cell_exponent: -15 to -9.
        cell_clip: how far cells go from 0; 0 for any.
        hidden_zero_point: the hidden values' integer that means 0.
        product_multiplier: turns the output gate times tanh of a cell, 2^30 for 1, into an output,
            or into int8 for the projection.
        product_zero_point: added to that product.
        projection_multiplier: the multiplier of the projection's sums.
        projection_clip: how far a projection goes from 0; 0 for any.

    Returns:
        A call whose result is int16, [batch, steps * outputs + cells]: the outputs of each step,
        which int8 holds, then the cells after the last one.
    """


@quantized_lstm.type_rule
def _type(
    attrs: Attrs,
    sums: TensorSpec,
    hidden: TensorSpec,
    cell: TensorSpec,
    weights: TensorSpec,
    extras: tuple[TensorSpec, ...],
) -> TensorSpec:
    gates = len(attrs.input_multipliers)
    if gates not in (len(GATES) - 1, len(GATES)):
        raise QnnError(f"an LSTM has 3 or 4 gates, got {gates} input_multipliers")
    (batch, steps, _), cells, outputs = sums.shape, cell.shape[1], weights.shape[1]
    if 0 in (batch, steps, cells, outputs):
        raise QnnError(f"sums {sums.shape}, weights {weights.shape} must have elements")
    expected = {
        "sums": (sums, TensorSpec((batch, steps, gates * cells), "int32")),
        "hidden": (hidden, TensorSpec((batch, outputs), "int8")),
        "cell": (cell, TensorSpec((batch, cells), "int16")),
        "weights": (weights, TensorSpec((gates * cells, outputs), "int8")),
    }
    names = attrs.extra_names
    if list(names) != [each for each in EXTRAS if each in names] or len(names) != len(extras):
        raise QnnError(f"extra_names must be of {EXTRAS}, for {len(extras)} tensors, got {names}")
    if any((first in names) != (second in names) for first, second in _PAIRS):
        raise QnnError(f"a norm, or a projection, has weights and a bias, got {names}")
    known = _extra_specs(gates, cells, outputs)
    expected.update({name: (spec, known[name]) for name, spec in zip(names, extras, strict=True)})
    for name, (given, needed) in expected.items():
        if given != needed:
            raise QnnError(
                f"{name} must be {needed.dtype} of shape {needed.shape}, "
                f"got {given.dtype} of shape {given.shape}"
            )
    if "projection" not in names and outputs != cells:
        raise QnnError(f"without a projection {cells} cells have as many outputs, got {outputs}")
    _check_numbers(attrs, gates)
    return TensorSpec((batch, steps * outputs + cells), "int16")


def gates_of(attrs: Attrs) -> tuple[str, ...]:
    """Return the gates that a call has."""
    return GATES[-len(attrs.input_multipliers) :]


def _extra_specs(gates: int, cells: int, outputs: int) -> dict[str, TensorSpec]:
    return {
        "peepholes": TensorSpec((gates - 1, cells), "int16"),
        "norm_weights": TensorSpec((gates, cells), "int16"),
        "norm_bias": TensorSpec((gates, cells), "int32"),
        "projection": TensorSpec((outputs, cells), "int8"),
        "projection_bias": TensorSpec((outputs,), "int32"),
    }


def _check_numbers(attrs: Attrs, gates: int) -> None:
    lengths = {
        "recurrent_multipliers": gates,
        "peephole_multipliers": gates - 1 if "peepholes" in attrs.extra_names else 0,
        "norm_scales": gates if "norm_weights" in attrs.extra_names else 0,
    }
    for name, length in lengths.items():
        if len(getattr(attrs, name)) != length:
            raise QnnError(f"{name} must be {length} numbers, got {len(getattr(attrs, name))}")
    for name in ("input_multipliers", "recurrent_multipliers", "peephole_multipliers"):
        check_multiplier(np.array(getattr(attrs, name), np.float64), "tflite")
    check_multiplier(attrs.product_multiplier, "tflite")
    check_multiplier(attrs.projection_multiplier, "tflite")
    if any(not 0 < scale < MOST_SCALE for scale in attrs.norm_scales):
        raise QnnError(f"norm_scales must lie within 0 and {MOST_SCALE}, got {attrs.norm_scales}")
    if not _LOWEST_EXPONENT <= attrs.cell_exponent <= _LOWEST_EXPONENT + MOST_BITS:
        raise QnnError(
            f"cell_exponent must lie within {_LOWEST_EXPONENT} and "
            f"{_LOWEST_EXPONENT + MOST_BITS}, got {attrs.cell_exponent}"
        )
    for name, most in (("cell_clip", 2**15 - 1), ("projection_clip", 2**7 - 1)):
        if not 0 <= getattr(attrs, name) <= most:
            raise QnnError(f"{name} must lie within 0 and {most}, got {getattr(attrs, name)}")
    for name in ("hidden_zero_point", "product_zero_point"):
        if not -(2**7) <= getattr(attrs, name) <= 2**7:
            raise QnnError(f"{name} must be about int8, got {getattr(attrs, name)}")


@quantized_lstm.reference
def _reference(
    attrs: Attrs, sums: Array, hidden: Array, cell: Array, weights: Array, extras: tuple[Array, ...]
) -> Array:
    past = hidden.astype(np.int64), cell.astype(np.int64)
    parts = dict(zip(attrs.extra_names, extras, strict=True))
    outputs = []
    for step in range(sums.shape[1]):
        past = _step(attrs, sums[:, step], *past, weights.astype(np.int64), parts)
        outputs.append(past[0])
    return np.concatenate([*outputs, past[1]], axis=1).astype(np.int16)


def _step(
    attrs: Attrs, sums: Array, hidden: Array, cell: Array, weights: Array, parts: dict[str, Array]
) -> tuple[Array, Array]:
    """Return the new hidden values and cells."""
    names, cells = gates_of(attrs), cell.shape[1]
    recurrent = (hidden - attrs.hidden_zero_point) @ weights.T
    seeing = [name for name in names if name != "cell"]

    def gate(name: str) -> Array:
        index = names.index(name)
        part = slice(index * cells, (index + 1) * cells)
        value = _saturated(_scaled(sums[:, part], attrs.input_multipliers[index]))
        more = _scaled(recurrent[:, part], attrs.recurrent_multipliers[index])
        value = _saturated(value + more)
        if "peepholes" in parts and name in seeing:
            row = seeing.index(name)
            product = parts["peepholes"][row].astype(np.int64) * cell
            value = _saturated(value + _scaled(product, attrs.peephole_multipliers[row]))
        if "norm_weights" in parts:
            rows = parts["norm_weights"][index], parts["norm_bias"][index]
            value = normalized(value, *rows, attrs.norm_scales[index])
        return tanh(value, GATE_BITS) if name == "cell" else logistic(value)

    forget = gate("forget")
    let_in = gate("input") if "input" in names else ONE - forget
    kept = rounding_divide_by_pot(forget * cell, 15).astype(np.int64)
    # Both are Q0.15, so their product has 30 bits below the point.
    new = rounding_divide_by_pot(let_in * gate("cell"), 30 + attrs.cell_exponent)
    cell = _clipped(_saturated(kept + new), attrs.cell_clip)
    product = gate("output") * tanh(cell, 15 + attrs.cell_exponent)
    given = _scaled(product, attrs.product_multiplier) + attrs.product_zero_point
    result = clamp_to(given, "int8").astype(np.int64)
    if "projection" in parts:
        projected = result @ parts["projection"].T.astype(np.int64) + parts["projection_bias"]
        given = _scaled(projected, attrs.projection_multiplier) + attrs.hidden_zero_point
        result = _clipped(clamp_to(given, "int8").astype(np.int64), attrs.projection_clip)
    return result, cell


def _scaled(x: Array, multiplier: float) -> Array:
    """Scale sums that wrap in int32."""
    scaled = multiply_by_quantized_multiplier(x.astype(np.int32), *quantize_multiplier(multiplier))
    return scaled.astype(np.int64)


def _saturated(x: Array) -> Array:
    return clamp_to(x, "int16").astype(np.int64)


def _clipped(x: Array, most: int) -> Array:
    return np.clip(x, -most, most) if most else x
