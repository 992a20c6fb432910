"""LSTM, of float32 or with weights of bytes, as DynamicQuantizeLSTM becomes here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.gates import LSTM_RULES, Functions, clipped
from frontends.onnx.converters.recurrent import Kind, Layer, Parameters
from frontends.onnx.converters.registry import Operands, converter


@converter("LSTM")
def _lstm(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return the outputs of all steps, the last ones, and the last cells.

    Source of the arithmetic: UniDirectionalLstm of ONNX Runtime's
    core/providers/cpu/rnn/uni_directional_lstm.cc, and rnn_helpers.cc beside it.
    """
    layer = Layer(builder, operands, attributes, Kind(gates=4, states=2))
    functions = Functions(attributes, ("Sigmoid", "Tanh", "Tanh"), len(layer.backward))
    units, is_coupled = layer.units, bool(attributes.get("input_forget", 0))

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
            return clipped(inner, value, attributes)

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
