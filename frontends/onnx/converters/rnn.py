"""RNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.gates import Functions, clipped
from frontends.onnx.converters.recurrent import Kind, Layer, Parameters
from frontends.onnx.converters.registry import Operands, converter


@converter("RNN")
def _rnn(builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]) -> relax.Expr:
    """Return the outputs of all steps, and the last ones.

    Source of the arithmetic: ONNX Runtime's core/providers/cpu/rnn/rnn.cc, and
    rnn_activation_functors.h beside it.
    """
    kind = Kind(gates=1, ends_at_zero=False, adds_bias=True)
    layer = Layer(builder, operands, attributes, kind)
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
