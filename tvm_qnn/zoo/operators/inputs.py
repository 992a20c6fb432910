"""What a network begins with: pictures, texts, constants."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tvm_qnn.zoo import images
from tvm_qnn.zoo.file import QUANTIZED, Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.graph import Graph, Operator, Range, Value, Write

_SAMPLES = images.PICTURES + 1  # pictures, and one of noise
_STREAM = 64  # steps of a stream


def _input(
    graph: Graph, name: str, samples: Array, dtype: str = QUANTIZED, limits: Range | None = None
) -> Value:
    """Add an input of the model, with its samples."""

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        file.inputs.append(file.tensor(name, outputs[0]))
        return file.inputs[-1:]

    return graph.add(Operator(lambda _: samples, write, dtype, limits=limits))[0]


def pictures(graph: Graph, size: int) -> Value:
    """Return an input [1, size, size, 3] of pictures; their real values are (pixel - 128) / 128."""
    drawn = images.pictures(range(images.PICTURES), size)
    pixels = np.concatenate([drawn, images.noise(0, size)[None]])
    samples = (pixels.astype(np.float32) - np.float32(128)) / np.float32(128)
    return _input(graph, "input", samples, limits=(-1.0, 127 / 128))


def spectra(graph: Graph, *shape: int, dtype: str = QUANTIZED) -> Value:
    """Return an input [1, *shape] of the last axis's bands; samples follow one another."""
    # Loudness comes and goes, and neighbouring bands are loud together.
    steps, bands = _STREAM * prod(shape[:-1]), shape[-1]
    noise = graph.run.rng.normal(0, 1, (steps + 4, bands + 2))
    smooth = sum(noise[i : i + steps, j : j + bands] for i in range(5) for j in range(3))
    samples = np.clip(smooth / 3, -4, 4).astype(np.float32).reshape(_STREAM, *shape)
    return _input(graph, "spectrum", samples, dtype, (-4.0, 4.0))


def numbers(graph: Graph, name: str, length: int, limit: int) -> Value:
    """Return an input [1, length] of int32, such as words of a text; samples are below limit."""
    samples = graph.run.rng.integers(0, limit, (_SAMPLES, length), np.int32)
    return _input(graph, name, samples, "int32")


def mask(graph: Graph, length: int) -> Value:
    """Return an input [1, 1, 1, length] that is 1 up to the end of a text, and 0 from there on."""
    ends = np.linspace(length / 2, length, _SAMPLES).reshape(-1, 1, 1, 1)
    samples = (np.arange(length) < ends).astype(np.float32)
    return _input(graph, "mask", samples, limits=(0.0, 1.0))


def _written(array: Array) -> Write:
    """Return a function that writes a constant, quantized if its type is."""

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        (kind,) = outputs
        if kind.quantization is None:
            index = file.constant("constant", array)
        else:
            index = file.quantized_constant("constant", array, kind.quantization)
        return [Tensor(kind.shape, kind.dtype, kind.quantization, index)]

    return write


def drawn(graph: Graph, shape: Shape, middle: float = 0.0, deviation: float = 1.0) -> Value:
    """Return a constant that is drawn as weights are, the same for every sample."""
    array = graph.run.drawn(shape) * np.float32(deviation) + np.float32(middle)
    operator = Operator(lambda _: array, _written(array), QUANTIZED, is_constant=True)
    return graph.add(operator)[0]


def constant(graph: Graph, values: Array, dtype: str = QUANTIZED) -> Value:
    """Return a constant, the same for every sample: real values, or those of a dtype."""
    array = np.asarray(values, np.float32 if dtype == QUANTIZED else np.dtype(dtype))
    limits = min(0.0, float(array.min())), max(0.0, float(array.max()))
    written = _written(array)
    return graph.add(Operator(lambda _: array, written, dtype, limits=limits, is_constant=True))[0]
