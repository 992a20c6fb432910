"""GRU, LSTM and RNN."""

from typing import Any

import numpy as np
from tvm import relax

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.products import FloatWeights
from frontends.onnx.converters.recurrent.gates import GRU_RULES, LSTM_RULES, clipped, gates_of
from frontends.onnx.converters.recurrent.layer import Kind, Layer, Parameters
from frontends.onnx.converters.registry import Call, converter


@converter("GRU")
def _gru(call: Call) -> relax.Expr:
    """Return the outputs of all steps, and the last ones.

    Source of the arithmetic: UniDirectionalGru of ONNX Runtime's
    core/providers/cpu/rnn/deep_cpu_gru.cc, and rnn_helpers.cc beside it.
    """
    layer = Layer(call, Kind(gates=3))
    gate_of = gates_of(call.attributes, ("Sigmoid", "Tanh"), len(layer.backward))
    units, is_linear = layer.units, bool(call.integer("linear_before_reset"))

    def step(inner: ModuleBuilder, sums: Any, states: list[Any], own: Parameters) -> list[Any]:
        (hidden,), weights = states, own.hidden
        assert isinstance(weights, FloatWeights)

        def part(values: Any, number: int) -> Any:
            return values[:, number * units : (number + 1) * units]

        def biased(value: Any, number: int, *, is_split: bool = False) -> Any:
            if own.biases is not None:
                of_data, of_hidden = (
                    bias[number * units : (number + 1) * units] for bias in own.biases
                )
                value = value + (of_data if is_split else of_data + of_hidden)
            return clipped(value, call.attributes)

        ahead = sums[:, : 2 * units]
        both = ahead + weights.part(0, 2 * units).product(inner, hidden)
        third = weights.part(2 * units, 3 * units)
        reset = gate_of(own.index, 0, GRU_RULES)(biased(part(both, 1), 1))
        if is_linear:
            linear = third.product(inner, hidden)
            if own.biases is not None:
                linear = linear + own.biases[1][2 * units :]
            more = linear * reset
        else:
            more = third.product(inner, hidden * reset)
        proposed = biased(part(sums, 2) + more, 2, is_split=is_linear)
        proposed = gate_of(own.index, 1, GRU_RULES)(proposed)
        update = gate_of(own.index, 0, LSTM_RULES)(biased(part(both, 0), 0))
        return [(1 - update) * proposed + update * hidden]

    return layer.convert(step)


@converter("LSTM")
def _lstm(call: Call) -> relax.Expr:
    """Return the outputs of all steps, the last ones, and the last cells.

    Source of the arithmetic: UniDirectionalLstm of ONNX Runtime's
    core/providers/cpu/rnn/uni_directional_lstm.cc, and rnn_helpers.cc beside it.
    """
    layer = Layer(call, Kind(gates=4, states=2))
    gate_of = gates_of(call.attributes, ("Sigmoid", "Tanh", "Tanh"), len(layer.backward))
    units, is_coupled = layer.units, bool(call.integer("input_forget"))

    def step(inner: ModuleBuilder, sums: Any, states: list[Any], own: Parameters) -> list[Any]:
        hidden, cells = states
        both = sums + own.hidden.product(inner, hidden)
        bias = None if own.biases is None else np.add(*own.biases)
        opened, proposed, given = (gate_of(own.index, i, LSTM_RULES) for i in range(3))

        def gate(number: int, seen: Any, peephole: int) -> Any:
            """Return the argument of a gate's function."""
            begin = number * units
            value = both[:, begin : begin + units]
            if seen is not None and own.peepholes is not None:
                weights = own.peepholes[peephole * units : (peephole + 1) * units]
                value = value + seen * weights
            if bias is not None:
                value = value + bias[begin : begin + units]
            return clipped(value, call.attributes)

        let_in = opened(gate(0, cells, 0))
        forget = 1 - let_in if is_coupled else opened(gate(2, cells, 2))
        offered = proposed(gate(3, None, 0))
        new = cells * forget + let_in * offered
        let_out = opened(gate(1, new, 1))
        return [given(new) * let_out, new]

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
    gate_of = gates_of(attributes, ("Tanh",), len(layer.backward))

    def step(inner: ModuleBuilder, sums: Any, states: list[Any], own: Parameters) -> list[Any]:
        both = own.hidden.product(inner, states[0]) + sums
        return [gate_of(own.index, 0)(clipped(both, attributes, below=True))]

    return layer.convert(step)
