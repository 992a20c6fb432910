"""TFLite models of one step of an LSTM of uint8, by LiteRT's basic kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range

DATA = Quantization.per_tensor(1 / 128, 128)
_SUMS = Quantization.per_tensor(2.0**-12, 0)


@dataclass(frozen=True)
class BasicLstm:
    """What it is made of.

    Attributes:
        batch: how many images.
        size: of the data.
        units: of the result.
        scale: of the weights.
        keeps: whether hidden values and cells are states, or else inputs.
        cell_scale: of the cells.
    """

    batch: int = 2
    size: int = 5
    units: int = 6
    scale: float = 0.02
    keeps: bool = True
    cell_scale: float = 2.0**-11

    @property
    def encodings(self) -> list[Quantization]:
        """The encodings of the results: hidden values, cells, the gates' data, and their sums."""
        return [DATA, Quantization.per_tensor(self.cell_scale, 0), DATA, _SUMS]

    def parts(
        self, writer: ModelWriter, rng: np.random.Generator, data: int
    ) -> tuple[list[int], list[int], dict[str, Any]]:
        """Add constants, states and results; return operands, results and options."""
        first, gates = len(writer._tensors), 4 * self.units
        weights = full_range(rng, "uint8", (gates, self.size + self.units))
        bias = rng.integers(-20_000, 20_000, gates).astype(np.int32)
        shape = (self.batch, self.units)
        kept = [
            writer.tensor(f"{name}{first}", shape, dtype, encoding, is_variable=self.keeps)
            for name, dtype, encoding in (
                ("hidden", "uint8", DATA),
                ("cells", "int16", self.encodings[1]),
            )
        ]
        encodings = [
            Quantization.per_tensor(*each) for each in ((self.scale, 120), (self.scale / 128, 0))
        ]
        constants = [
            writer.tensor(f"{name}{first}", array.shape, array.dtype.name, encoding, array)
            for name, array, encoding in zip("wb", (weights, bias), encodings, strict=True)
        ]
        shapes = (shape, shape, (self.batch, weights.shape[1]), (self.batch, gates))
        dtypes = ("uint8", "int16") * 2
        results = [
            writer.tensor(f"{name}{first}", each, dtype, encoding)
            for name, each, dtype, encoding in zip(
                "ynrs", shapes, dtypes, self.encodings, strict=True
            )
        ]
        options = {"fused_activation_function": "TANH", "kernel_type": 1}
        return [data, kept[0], *constants, kept[1]], results, options
