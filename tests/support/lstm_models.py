"""TFLite models of one LSTM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range

Array = np.ndarray[Any, Any]
Q = Quantization.per_tensor

CODE = "UNIDIRECTIONAL_SEQUENCE_LSTM"
GATES = ("input", "forget", "cell", "output")


@dataclass(frozen=True)
class LstmModel:
    """What an LSTM of int8 is made of.

    Attributes:
        batch: of the data.
        steps: likewise.
        size: values of a step.
        cells: how many.
        outputs: of a step, where there is a projection; 0 for none.
        coupled: whether there is no input gate.
        peepholes: whether there are.
        norm: whether gates are normalized.
        time_major: whether steps come first.
        cell_scale: a step of the cells, as a power of two.
        cell_clip: as the option.
        proj_clip: as the option.
        shift: how far weights are scaled up, as a power of two.
    """

    batch: int = 1
    steps: int = 5
    size: int = 6
    cells: int = 7
    outputs: int = 0
    coupled: bool = False
    peepholes: bool = False
    norm: bool = False
    time_major: bool = False
    cell_scale: int = -12
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    shift: int = 0

    def parts(
        self, writer: ModelWriter, rng: np.random.Generator, data: int
    ) -> tuple[list[int], Quantization, dict[str, Any]]:
        """Add constants and states; return operands, the result's encoding and options."""
        outputs, gates = self.outputs or self.cells, GATES[self.coupled :]
        hidden, inner = Q(1 / 128, int(rng.integers(-5, 6))), Q(1 / 120, int(rng.integers(-9, 10)))
        hidden = hidden if self.outputs else inner

        def constant(dtype: str, shape: tuple[int, ...], scale: float, most: int = 2**15) -> int:
            count = len(writer._tensors)
            array = (
                rng.integers(-most, most, shape).astype(np.int32)
                if dtype == "int32"
                else full_range(rng, dtype, shape)
            )
            return writer.tensor(f"constant_{count}", shape, dtype, Q(scale, 0), array)

        def by_gate(present: tuple[str, ...], dtype: str, shape: Any, scale: float) -> list[int]:
            drawn = {gate: scale * rng.uniform(0.5, 2) for gate in present}
            return [
                constant(dtype, shape, drawn[gate]) if gate in present else -1 for gate in GATES
            ]

        up = 2.0**self.shift
        weights = by_gate(gates, "int8", (self.cells, self.size), 0.005 * up)
        recurrent = by_gate(gates, "int8", (self.cells, outputs), 0.01 * up)
        seeing = tuple(gate for gate in gates if gate != "cell") if self.peepholes else ()
        peepholes = by_gate(seeing, "int16", (self.cells,), 2.0**-16 * up)
        peepholes.pop(GATES.index("cell"))
        biases = by_gate(gates, "int32", (self.cells,), 1e-4)
        projection = [-1, -1]
        if self.outputs:
            projection = [constant("int8", (outputs, self.cells), 0.01)]
            projection.append(constant("int32", (outputs,), 1e-4, 2000))
        norm = by_gate(gates if self.norm else (), "int16", (self.cells,), 2.0**-15)
        states = [
            writer.tensor(
                f"{name}_{len(writer._tensors)}", shape, dtype, encoding, is_variable=True
            )
            for name, shape, dtype, encoding in (
                ("hidden", (self.batch, outputs), "int8", hidden),
                ("cells", (self.batch, self.cells), "int16", Q(2.0**self.cell_scale, 0)),
            )
        ]
        middle = [
            writer.tensor(f"gate_{len(writer._tensors)}", (0,), "int16", Q(0.003 * up, 0))
            for _ in GATES
        ]
        middle.append(writer.tensor(f"inner_{len(writer._tensors)}", (0,), "int8", inner))
        options = {
            "intermediates": middle,
            "fused_activation_function": "TANH",
            "time_major": self.time_major,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
        }
        operands = [data, *weights, *recurrent, *peepholes, *biases, *projection, *states, *norm]
        return operands, hidden, options

    def write(
        self,
        seed: int = 0,
        changes: Mapping[int, int] | None = None,
        inputs: int = 24,
        intermediates: int = 5,
    ) -> bytes:
        """Write a model of it alone.

        Args:
            seed: of what is drawn.
            changes: for changed inputs: the indices from which they are taken, -1 for none.
            inputs: the number of inputs.
            intermediates: the number of intermediates.
        """
        rng, writer = np.random.default_rng(seed), ModelWriter()
        x = writer.tensor("x", self.shape, "int8", Q(0.05, int(rng.integers(-128, 128))))
        right, encoding, options = self.parts(writer, rng, x)
        places = (changes or {}).items()
        taken = {place: right[other] if other >= 0 else -1 for place, other in places}
        operands = [taken.get(place, index) for place, index in enumerate(right)][:inputs]
        options["intermediates"] = options["intermediates"][:intermediates]
        y = writer.tensor("y", self.result, "int8", encoding)
        writer.operator(CODE, operands, [y], **options)
        return writer.finish([x], [y])

    @property
    def shape(self) -> tuple[int, int, int]:
        """The data's shape."""
        first = (self.steps, self.batch) if self.time_major else (self.batch, self.steps)
        return *first, self.size

    @property
    def result(self) -> tuple[int, int, int]:
        """The result's shape."""
        return *self.shape[:2], self.outputs or self.cells
