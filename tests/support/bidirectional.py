"""TFLite models of two recurrent layers of float32 data, one of them backwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.float_lstm import Lstm
from tests.support.rnn_models import Rnn

_GATES = 4


@dataclass(frozen=True)
class BothWays:
    """Two layers; what is not of the backward one alone is the forward one's.

    Attributes:
        layer: the forward one.
        backward: units of a backward Rnn; LiteRT wants as many cells of both LSTMs.
        merged: whether there is one result.
        beside: the size of a second sequence, 0 without one.
        crossed: whether both layers read it; otherwise the backward one alone.
    """

    layer: Lstm | Rnn
    backward: int = 5
    merged: bool = True
    beside: int = 0
    crossed: bool = True

    @property
    def code(self) -> str:
        """The operator."""
        return f"BIDIRECTIONAL_SEQUENCE_{type(self.layer).__name__.upper()}"

    @property
    def other(self) -> Lstm | Rnn:
        """The backward layer."""
        size = self.beside if self.beside and not self.crossed else self.layer.size
        if isinstance(self.layer, Lstm):
            return replace(self.layer, size=size)
        return replace(self.layer, size=size, units=self.backward)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the operands."""
        first = self.layer.shape
        return [first, (*first[:-1], self.beside)] if self.beside else [first]

    @property
    def results(self) -> list[tuple[int, ...]]:
        """The shapes of its results."""
        first, second = self.layer.result, self.other.result
        return [(*first[:-1], first[-1] + second[-1])] if self.merged else [first, second]

    def parts(
        self, writer: ModelWriter, rng: np.random.Generator, data: list[int]
    ) -> tuple[list[int], dict[str, Any]]:
        """Add constants and states; return operands and options."""
        layers = self.layer, self.other
        (first, options), (second, _) = (each.parts(writer, rng, data[0]) for each in layers)
        options["merge_outputs"] = self.merged
        aux = data[1] if self.beside else -1
        weights = [self._weights(writer, rng, each) for each in layers]
        if isinstance(self.layer, Rnn):
            return [*first, *second[1:], aux, weights[0][-1], weights[1][-1]], options
        states = [*first[18:20], *second[18:20]]
        return [*first[:18], *second[1:18], *states, aux, *weights[0], *weights[1]], options

    def _weights(
        self, writer: ModelWriter, rng: np.random.Generator, layer: Lstm | Rnn
    ) -> list[int]:
        """Add weights of a second sequence for each gate, or for none."""
        found = []
        for gate in range(_GATES):
            left_out = isinstance(layer, Lstm) and layer.coupled and not gate
            if not self.beside or not self.crossed or left_out:
                found.append(-1)
                continue
            name, units = f"a{len(writer._tensors)}", layer.result[-1]
            shape = (layer.cells if isinstance(layer, Lstm) else units, self.beside)
            array, encoding = rng.normal(0, 0.3, shape).astype(np.float32), None
            if layer.weights != "float32":
                array = np.asarray(rng.integers(-127, 128, shape), np.int8).view(layer.weights)
                encoding = Quantization.per_tensor(float(rng.uniform(0.002, 0.006)), 0)
            found.append(writer.tensor(name, shape, layer.weights, encoding, array))
        return found

    def write(self, **changed: Any) -> bytes:
        """Write a model of it alone, with other options."""
        writer = ModelWriter()
        data = [writer.tensor(f"x{i}", shape, "float32") for i, shape in enumerate(self.shapes)]
        operands, options = self.parts(writer, np.random.default_rng(self.backward), data)
        made = [writer.tensor(f"y{i}", shape, "float32") for i, shape in enumerate(self.results)]
        writer.operator(self.code, operands, made, **{**options, **changed})
        return writer.finish(data, made)
