"""TFLite models of one LSTM of float32 data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.lstm_models import CODE, GATES


@dataclass(frozen=True)
class Lstm:
    """What an LSTM of float32 is made of; see ``LstmModel``."""

    weights: str = "float32"
    batch: int = 1
    steps: int = 5
    size: int = 6
    cells: int = 7
    outputs: int = 0
    coupled: bool = False
    peepholes: bool = False
    norm: bool = False
    time_major: bool = False
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    asymmetric: bool = False
    activation: str = "TANH"
    code: str = CODE

    @property
    def shape(self) -> tuple[int, ...]:
        """The data's shape; that of LSTM, the operator of one step, is a row for each image."""
        if self.code == "LSTM":
            return self.batch, self.size
        first = (self.steps, self.batch) if self.time_major else (self.batch, self.steps)
        return *first, self.size

    @property
    def result(self) -> tuple[int, ...]:
        """The result's shape."""
        return *self.shape[:-1], self.outputs or self.cells

    def parts(
        self, writer: ModelWriter, rng: np.random.Generator, data: int
    ) -> tuple[list[int], dict[str, Any]]:
        """Add constants and states; return operands and options."""
        outputs, gates = self.outputs or self.cells, GATES[self.coupled :]
        first = len(writer._tensors)

        def constant(*shape: int, real: bool = False) -> int:
            name = f"c{len(writer._tensors)}"
            if real or self.weights == "float32":
                array = rng.normal(0, 0.5, shape).astype(np.float32)
                return writer.tensor(name, shape, "float32", None, array)
            array = rng.integers(-127, 128, shape).astype(np.int8).view(self.weights)
            encoding = Quantization.per_tensor(float(rng.uniform(0.003, 0.01)), 0)
            return writer.tensor(name, shape, self.weights, encoding, array)

        def by_gate(present: tuple[str, ...], *shape: int, real: bool = False) -> list[int]:
            return [constant(*shape, real=real) if gate in present else -1 for gate in GATES]

        weights = by_gate(gates, self.cells, self.size)
        recurrent = by_gate(gates, self.cells, outputs)
        seeing = tuple(gate for gate in gates if gate != "cell") if self.peepholes else ()
        peepholes = by_gate(seeing, self.cells)
        peepholes.pop(GATES.index("cell"))
        biases = by_gate(gates, self.cells, real=True)
        norm = by_gate(gates if self.norm else (), self.cells, real=True)
        projection = [-1, -1]
        if self.outputs:
            projection = [constant(outputs, self.cells), constant(outputs, real=True)]
        states = [
            writer.tensor(f"{name}{first}", (self.batch, count), "float32", is_variable=True)
            for name, count in (("hidden", outputs), ("cells", self.cells))
        ]
        options = {
            "fused_activation_function": self.activation,
            **({} if self.code == "LSTM" else {"time_major": self.time_major}),
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
            "asymmetric_quantize_inputs": self.asymmetric,
        }
        operands = [data, *weights, *recurrent, *peepholes, *biases, *projection, *states, *norm]
        return operands, options

    def write(self, **changed: Any) -> bytes:
        """Write a model of it alone, with other options."""
        rng, writer = np.random.default_rng(self.cells), ModelWriter()
        x = writer.tensor("x", self.shape, "float32")
        operands, options = self.parts(writer, rng, x)
        y = writer.tensor("y", self.result, "float32")
        writer.operator(self.code, operands, [y], **{**options, **changed})
        return writer.finish([x], [y])
