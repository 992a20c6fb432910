"""GRU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.gates import GRU_RULES, LSTM_RULES, Functions, clipped
from frontends.onnx.converters.recurrent import Kind, Layer, Parameters
from frontends.onnx.converters.registry import Operands, converter
from frontends.onnx.converters.row_weights import FloatWeights


@converter("GRU")
def _gru(builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]) -> relax.Expr:
    """Return the outputs of all steps, and the last ones.

    Source of the arithmetic: UniDirectionalGru of ONNX Runtime's
    core/providers/cpu/rnn/deep_cpu_gru.cc, and rnn_helpers.cc beside it.
    """
    layer = Layer(builder, operands, attributes, Kind(gates=3))
    functions = Functions(attributes, ("Sigmoid", "Tanh"), len(layer.backward))
    units, is_linear = layer.units, bool(attributes.get("linear_before_reset", 0))

    def step(
        inner: ModuleBuilder,
        sums: relax.Expr,
        states: Sequence[relax.Expr],
        parameters: Parameters,
        place: int,
    ) -> Sequence[relax.Expr]:
        (hidden,), emit, weights = states, inner.emit, parameters.hidden
        assert isinstance(weights, FloatWeights)

        def part(values: relax.Expr, number: int) -> relax.Expr:
            return emit(R.strided_slice(values, [1], [number * units], [(number + 1) * units]))

        def biased(value: relax.Expr, number: int, *, is_split: bool = False) -> relax.Expr:
            if parameters.biases is not None:
                of_data, of_hidden = (
                    bias[number * units : (number + 1) * units] for bias in parameters.biases
                )
                bias = of_data if is_split else of_data + of_hidden
                value = emit(R.add(value, relax.const(bias)))
            return clipped(inner, value, attributes)

        ahead = emit(R.strided_slice(sums, [1], [0], [2 * units]))
        both = emit(R.add(ahead, weights.part(0, 2 * units).product(inner, hidden)))
        own = weights.part(2 * units, 3 * units)
        reset = functions.gate(place, 0, GRU_RULES)(inner, biased(part(both, 1), 1))
        if is_linear:
            linear = own.product(inner, hidden)
            if parameters.biases is not None:
                linear = emit(R.add(linear, relax.const(parameters.biases[1][2 * units :])))
            more = emit(R.multiply(linear, reset))
        else:
            more = own.product(inner, emit(R.multiply(hidden, reset)))
        proposed = biased(emit(R.add(part(sums, 2), more)), 2, is_split=is_linear)
        proposed = functions.gate(place, 1, GRU_RULES)(inner, proposed)
        update = functions.gate(place, 0, LSTM_RULES)(inner, biased(part(both, 0), 0))
        rest = emit(R.subtract(relax.const(np.float32(1)), update))
        new = emit(R.multiply(rest, proposed))
        return [emit(R.add(new, emit(R.multiply(update, hidden))))]

    return layer.convert(step)
