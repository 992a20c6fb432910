"""TFLite models of one plain recurrent layer of float32 data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter


@dataclass(frozen=True)
class Rnn:
    """What a plain recurrent layer is made of; of no steps it is the operator of one alone."""

    weights: str = "float32"
    batch: int = 1
    steps: int = 5
    size: int = 6
    units: int = 7
    activation: str = "TANH"
    time_major: bool = False
    asymmetric: bool = False

    @property
    def code(self) -> str:
        """The operator."""
        return "UNIDIRECTIONAL_SEQUENCE_RNN" if self.steps else "RNN"

    def _shape(self, last: int) -> tuple[int, ...]:
        if not self.steps:
            return self.batch, last
        first = (self.steps, self.batch) if self.time_major else (self.batch, self.steps)
        return *first, last

    @property
    def shape(self) -> tuple[int, ...]:
        """The data's shape."""
        return self._shape(self.size)

    @property
    def result(self) -> tuple[int, ...]:
        """The result's shape."""
        return self._shape(self.units)

    def parts(
        self, writer: ModelWriter, rng: np.random.Generator, data: int
    ) -> tuple[list[int], dict[str, Any]]:
        """Add constants and the state; return operands and options."""
        operands, first = [data], len(writer._tensors)
        for columns in (self.size, self.units):
            name, shape = f"w{len(writer._tensors)}", (self.units, columns)
            if self.weights == "float32":
                array = rng.normal(0, 0.3, shape).astype(np.float32)
                operands.append(writer.tensor(name, shape, "float32", None, array))
            else:
                array = np.asarray(rng.integers(-127, 128, shape), np.int8).view(self.weights)
                encoding = Quantization.per_tensor(float(rng.uniform(0.002, 0.006)), 0)
                operands.append(writer.tensor(name, shape, self.weights, encoding, array))
        bias = rng.normal(0, 0.3, self.units).astype(np.float32)
        operands.append(writer.tensor(f"b{first}", bias.shape, "float32", None, bias))
        kept = (self.batch, self.units)
        operands.append(writer.tensor(f"hidden{first}", kept, "float32", is_variable=True))
        options = {
            "fused_activation_function": self.activation,
            "asymmetric_quantize_inputs": self.asymmetric,
            **({"time_major": self.time_major} if self.steps else {}),
        }
        return operands, options

    def write(self, **changed: Any) -> bytes:
        """Write a model of it alone, with other options."""
        writer = ModelWriter()
        x = writer.tensor("x", self.shape, "float32")
        operands, options = self.parts(writer, np.random.default_rng(self.units), x)
        y = writer.tensor("y", self.result, "float32")
        writer.operator(self.code, operands, [y], **{**options, **changed})
        return writer.finish([x], [y])
