"""What a network begins with: pictures, texts, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tvm_qnn.zoo import images
from tvm_qnn.zoo.file import QUANTIZED, Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Graph, Operator, Value

_SAMPLES = images.PICTURES + 1  # pictures, and one of noise
_STREAM = 64  # steps of a stream


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


@dataclass(frozen=True)
class _Spectra(Operator):
    shape: Shape
    kind: str

    def shapes(self, *shapes: Shape) -> list[Shape]:
        return [(1, *self.shape)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        # Loudness comes and goes, and neighbouring bands are loud together.
        steps, bands = _STREAM * prod(self.shape[:-1]), self.shape[-1]
        noise = run.rng.normal(0, 1, (steps + 4, bands + 2))
        smooth = sum(noise[i : i + steps, j : j + bands] for i in range(5) for j in range(3))
        return [np.clip(smooth / 3, -4, 4).astype(np.float32).reshape(_STREAM, *self.shape)]

    def dtype(self, *dtypes: str) -> str:
        return self.kind

    def limits(self) -> tuple[float, float]:
        return -4.0, 4.0

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        file.inputs.append(file.tensor("spectrum", outputs[0]))
        return file.inputs[-1:]


def spectra(graph: Graph, *shape: int, dtype: str = QUANTIZED) -> Value:
    """Return an input [1, *shape] of the last axis's bands; samples follow one another."""
    return graph.add(_Spectra(shape, dtype))[0]


@dataclass(frozen=True)
class _Numbers(Operator):
    name: str
    length: int
    limit: int

    def shapes(self, *shapes: Shape) -> list[Shape]:
        return [(1, self.length)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        return [run.rng.integers(0, self.limit, (_SAMPLES, self.length), np.int32)]

    def dtype(self, *dtypes: str) -> str:
        return "int32"

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        file.inputs.append(file.tensor(self.name, outputs[0]))
        return file.inputs[-1:]


def numbers(graph: Graph, name: str, length: int, limit: int) -> Value:
    """Return an input [1, length] of int32, such as words of a text; samples are below limit."""
    return graph.add(_Numbers(name, length, limit))[0]


@dataclass(frozen=True)
class _Mask(Operator):
    length: int

    def shapes(self, *shapes: Shape) -> list[Shape]:
        return [(1, 1, 1, self.length)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        ends = np.linspace(self.length / 2, self.length, _SAMPLES).reshape(-1, 1, 1, 1)
        return [(np.arange(self.length) < ends).astype(np.float32)]

    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        file.inputs.append(file.tensor("mask", outputs[0]))
        return file.inputs[-1:]


def mask(graph: Graph, length: int) -> Value:
    """Return an input [1, 1, 1, length] that is 1 up to the end of a text, and 0 from there on."""
    return graph.add(_Mask(length))[0]


@dataclass(frozen=True)
class _Drawn(Operator):
    shape: Shape
    middle: float
    deviation: float

    def shapes(self, *shapes: Shape) -> list[Shape]:
        return [self.shape]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        array = run.drawn(self.shape) * np.float32(self.deviation) + np.float32(self.middle)
        run.weights = Weights(array, np.zeros(0, np.float32))
        return [array]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        (kind,) = outputs
        assert file.weights is not None
        index = file.quantized_constant("constant", file.weights.kernel, kind.quantization)
        return [Tensor(kind.shape, kind.dtype, kind.quantization, index)]


def drawn(graph: Graph, shape: Shape, middle: float = 0.0, deviation: float = 1.0) -> Value:
    """Return a constant that is drawn as weights are, the same for every sample."""
    return graph.add(_Drawn(shape, middle, deviation))[0]


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
