"""What a network begins with: pictures and constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tvm_qnn.zoo import images
from tvm_qnn.zoo.file import QUANTIZED, Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Graph, Operator, Value


@dataclass(frozen=True)
class _Pictures(Operator):
    size: int

    def shapes(self, *shapes: Shape) -> list[Shape]:
        return [(1, self.size, self.size, 3)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        drawn = images.pictures(range(images.PICTURES), self.size)
        pixels = np.concatenate([drawn, images.noise(0, self.size)[None]])
        return [(pixels.astype(np.float32) - np.float32(128)) / np.float32(128)]

    def limits(self) -> tuple[float, float]:
        return -1.0, 127 / 128

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        file.inputs.append(file.tensor("input", outputs[0]))
        return file.inputs[-1:]


def pictures(graph: Graph, size: int) -> Value:
    """Return an input [1, size, size, 3] of pictures; their real values are (pixel - 128) / 128."""
    return graph.add(_Pictures(size))[0]


@dataclass(frozen=True, eq=False)
class _Constant(Operator):
    array: Array
    kind: str

    def shapes(self, *shapes: Shape) -> list[Shape]:
        return [self.array.shape]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        return [self.array]

    def dtype(self, *dtypes: str) -> str:
        return self.kind

    def limits(self) -> tuple[float, float]:
        return min(0.0, float(self.array.min())), max(0.0, float(self.array.max()))

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        (kind,) = outputs
        if kind.quantization is None:
            index = file.constant("constant", self.array)
        else:
            index = file.quantized_constant("constant", self.array, kind.quantization)
        return [Tensor(kind.shape, kind.dtype, kind.quantization, index)]


def constant(graph: Graph, array: Array, dtype: str = QUANTIZED) -> Value:
    """Return a constant, the same for every sample: real values, or those of a dtype."""
    kind = np.float32 if dtype == QUANTIZED else np.dtype(dtype)
    return graph.add(_Constant(np.asarray(array, kind), dtype))[0]
