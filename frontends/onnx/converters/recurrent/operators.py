"""GRU, LSTM and RNN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.products import FloatWeights
from frontends.onnx.converters.recurrent.gates import GRU_RULES, LSTM_RULES, Functions, clipped
from frontends.onnx.converters.recurrent.layer import Kind, Layer, Parameters
from frontends.onnx.converters.registry import Call, converter


@converter("GRU")
def _gru(call: Call) -> relax.Expr:
    """Return the outputs of all steps, and the last ones.

    Source of the arithmetic: UniDirectionalGru of ONNX Runtime's
    core/providers/cpu/rnn/deep_cpu_gru.cc, and rnn_helpers.cc beside it.
    """
    layer = Layer(call, Kind(gates=3))
    functions = Functions(call.attributes, ("Sigmoid", "Tanh"), len(layer.backward))
    units, is_linear = layer.units, bool(call.attributes.get("linear_before_reset", 0))

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
            return clipped(inner, value, call.attributes)

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


@converter("LSTM")
def _lstm(call: Call) -> relax.Expr:
    """Return the outputs of all steps, the last ones, and the last cells.

    Source of the arithmetic: UniDirectionalLstm of ONNX Runtime's
    core/providers/cpu/rnn/uni_directional_lstm.cc, and rnn_helpers.cc beside it.
    """
    layer = Layer(call, Kind(gates=4, states=2))
    functions = Functions(call.attributes, ("Sigmoid", "Tanh", "Tanh"), len(layer.backward))
    units, is_coupled = layer.units, bool(call.attributes.get("input_forget", 0))

    def step(
        inner: ModuleBuilder,
        sums: relax.Expr,
        states: Sequence[relax.Expr],
        parameters: Parameters,
        place: int,
    ) -> Sequence[relax.Expr]:
        (hidden, cells), emit = states, inner.emit
        both = emit(R.add(sums, parameters.hidden.product(inner, hidden)))
        bias = None if parameters.biases is None else np.add(*parameters.biases)
        opened, proposed, given = (functions.gate(place, i, LSTM_RULES) for i in range(3))

        def gate(number: int, seen: relax.Expr | None, peephole: int) -> relax.Expr:
            """Return what a gate's function is given."""
            begin = number * units
            value = emit(R.strided_slice(both, [1], [begin], [begin + units]))
            if seen is not None and parameters.peepholes is not None:
                weights = parameters.peepholes[peephole * units : (peephole + 1) * units]
                value = emit(R.add(value, emit(R.multiply(seen, relax.const(weights)))))
            if bias is not None:
                value = emit(R.add(value, relax.const(bias[begin : begin + units])))
            return clipped(inner, value, call.attributes)

        let_in = opened(inner, gate(0, cells, 0))
        if is_coupled:
            forget = emit(R.subtract(relax.const(np.float32(1)), let_in))
        else:
            forget = opened(inner, gate(2, cells, 2))
        offered = proposed(inner, gate(3, None, 0))
        kept = emit(R.multiply(cells, forget))
        new = emit(R.add(kept, emit(R.multiply(let_in, offered))))
        let_out = opened(inner, gate(1, new, 1))
        return [emit(R.multiply(given(inner, new), let_out)), new]

    return layer.convert(step)


@converter("RNN")
def _rnn(call: Call) -> relax.Expr:
    """Return the outputs of all steps, and the last ones.

    Source of the arithmetic: ONNX Runtime's core/providers/cpu/rnn/rnn.cc, and
    rnn_activation_functors.h beside it.
    """
    kind = Kind(gates=1, ends_at_zero=False, adds_bias=True)
    layer = Layer(call, kind)
    attributes = call.attributes
    names = attributes.get("activations", ())
    if len(names) == 2 and len(layer.backward) == 1:  # the standard's default, for two directions
        attributes = {**attributes, "activations": names[:1]}
    functions = Functions(attributes, ("Tanh",), len(layer.backward))

    def step(
        inner: ModuleBuilder,
        sums: relax.Expr,
        states: Sequence[relax.Expr],
        parameters: Parameters,
        place: int,
    ) -> Sequence[relax.Expr]:
        both = inner.emit(R.add(parameters.hidden.product(inner, states[0]), sums))
        bounded = clipped(inner, both, attributes, below=True)
        return [functions.gate(place, 0)(inner, bounded)]

    return layer.convert(step)
