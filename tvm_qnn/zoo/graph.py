"""A network that is being built: each operator runs on synthetic samples as soon as it is added.

The run fixes the weights, and the ranges of the values. `emit` then writes the same operators as a
quantized TFLite model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from tvm_qnn.zoo.file import QUANTIZED, STYLES, File, Shape, Style, Tensor
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.images import PICTURES

Scaled = Callable[[int], int]
"""Maps a published number of channels to the number in this network."""

Range = tuple[float, float]
Tensors = Sequence[Tensor]
Write = Callable[[File, Tensors, Tensors], list[Tensor]]


def plain(code: str, options: Mapping[str, Any], constants: Mapping[str, Any]) -> Write:
    """Return a function that writes an operator; int32 constants follow its inputs."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        arrays = ((role, np.array(each, np.int32)) for role, each in constants.items())
        operands = [*(x.index for x in inputs), *(file.constant(*each) for each in arrays)]
        return file.layer(code, operands, outputs, **options)

    return write


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator with its attributes; calling it adds it to the graph of its inputs.

    Attributes:
        compute: takes the run and an array for each input, with all samples along its
            first axis, and returns the output, or a list of several. An operator with weights
            draws them here, and leaves them in `run.weights`.
        write: writes the operator to a file; takes the inputs and the types of the outputs.
        dtype: the outputs' dtype; by default that of the first input.
        same_scale: whether its outputs have the scale of its first input.
        joins: whether, in signed models, its inputs must have the output's scale.
        lowest: the real value of the lowest integer, if TFLite prescribes the output's scale.
        limits: the range of the outputs, if it is known without a run.
        is_constant: whether the output is the same for every sample, and has no axis of samples.
    """

    compute: Callable[..., Any]
    write: Write
    dtype: str | None = None
    same_scale: bool = False
    joins: bool = False
    lowest: float | None = None
    limits: Range | None = None
    is_constant: bool = False

    def __call__(self, *inputs: Value) -> Value:
        """Add the operator and return its output, or the first of several."""
        return self.outputs(*inputs)[0]

    def outputs(self, *inputs: Value) -> tuple[Value, ...]:
        """Add the operator and return all of its outputs."""
        return inputs[0].graph.add(self, *inputs)


@dataclass(frozen=True)
class Kind:
    """The properties of a value without its samples.

    Attributes:
        number: its index in the graph, in the order in which values were made.
        shape: the shape of one sample, with a batch of 1 in front.
        dtype: "int32", "float32" and so on, or QUANTIZED for the dtype of the model's activations.
        source: the index of the value with its scale, most often its own.
    """

    number: int
    shape: Shape
    dtype: str
    source: int


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph, with its values for all samples."""

    graph: Graph
    kind: Kind
    array: np.ndarray

    @property
    def shape(self) -> Shape:
        """The shape of one sample, with a batch of 1 in front."""
        return self.kind.shape


@dataclass(frozen=True)
class Node:
    """An operator in the graph, with the weights that it drew."""

    operator: Operator
    inputs: tuple[Kind, ...]
    outputs: tuple[Kind, ...]
    weights: Weights | None


@dataclass
class Graph:
    """Operators in the order in which they run.

    Every channel of every layer is normalised over the samples, as in batch normalisation. One
    sample is a picture of pure noise, so that the ranges also cover inputs that are not pictures.
    Equal arguments give equal weights and ranges on the same machine; on another one, numpy's
    matrix product may round differently.

    Attributes:
        classes: the number of classes.
        seed: the seed of the weights.
        nodes: the operators.
        ranges: the lowest and highest number of every value with a scale of its own, by its index.
        results: the outputs of the network.
        run: draws the operators' weights.
    """

    classes: int
    seed: int
    nodes: list[Node] = field(default_factory=list)
    ranges: dict[int, Range] = field(default_factory=dict)
    results: tuple[Kind, ...] = ()

    def __post_init__(self) -> None:
        """Choose the classes of the pictures."""
        rng = np.random.default_rng(self.seed)
        self.run = FloatRun(rng, rng.permutation(self.classes)[:PICTURES])
        self._count = 0

    def add(self, operator: Operator, *inputs: Value) -> tuple[Value, ...]:
        """Run an operator, and return its outputs."""
        self.run.weights = None
        arrays = operator.compute(self.run, *(value.array for value in inputs))
        kinds = tuple(value.kind for value in inputs)
        outputs = []
        for array in arrays if isinstance(arrays, list) else [arrays]:
            shape = array.shape if operator.is_constant else (1, *array.shape[1:])
            source = kinds[0].source if operator.same_scale else self._count
            dtype = operator.dtype or kinds[0].dtype
            outputs.append(Value(self, Kind(self._count, shape, dtype, source), array))
            if source == self._count and dtype == QUANTIZED:
                ends = operator.limits or (float(array.min()), float(array.max()))
                self.ranges[self._count] = ends
            self._count += 1
        made = tuple(value.kind for value in outputs)
        self.nodes.append(Node(operator, kinds, made, self.run.weights))
        return tuple(outputs)

    def tied(self) -> dict[int, Range]:
        """Return the ranges for concatenations whose parts all have the range of the whole."""
        fixed = {
            kind.number
            for node in self.nodes
            if node.operator.lowest is not None or node.operator.limits is not None
            for kind in node.outputs
        }
        groups = [
            [kind.source for kind in (*node.outputs, *node.inputs) if kind.source not in fixed]
            for node in self.nodes
            if node.operator.joins and node.outputs[0].dtype == QUANTIZED
        ]
        tied = dict(self.ranges)
        # A concatenation may be part of a later one: repeat until nothing changes.
        while any(_tie(tied, group) for group in groups):
            pass
        return tied


@dataclass(frozen=True)
class Topology:
    """A network.

    Attributes:
        describe: adds it to a graph. Its arguments are the graph, a size as below, the number of
            classes, and a function that maps a published number of channels to that in the graph.
            It returns the outputs; the output of a classifier is the probabilities, [1, classes].
        size: the published height and width of its pictures in pixels, number of words in its
            texts, or number of bands in its spectra.
        tiny_size: the same for the tiny variant: small, with odd sizes in its layers.
        styles: the styles in which it can be made.
        classes: the published number of classes.
    """

    describe: Callable[[Graph, int, int, Scaled], list[Value]]
    size: int
    tiny_size: int
    styles: tuple[str, ...] = tuple(STYLES)
    classes: int = 1001


def channel_scaler(width: float) -> Scaled:
    """Return a function that multiplies published numbers of channels by `width`; at least 4."""
    return lambda channels: max(4, round(channels * width))


def _tie(ranges: dict[int, Range], group: Sequence[int]) -> bool:
    lows, highs = zip(*(ranges[i] for i in group), strict=True)
    joint = (min(lows), max(highs))
    moved = any(ranges[i] != joint for i in group)
    ranges.update(dict.fromkeys(group, joint))
    return moved


def emit(name: str, graph: Graph, style: Style) -> bytes:
    """Quantize a network and write it.

    Args:
        name: the network's name.
        graph: the network.
        style: the quantization.

    Returns:
        The contents of a .tflite file.
    """
    file = File(style)
    tensors: dict[int, Tensor] = {}
    # A signed CONCATENATION has no scales of its own: all its inputs must have the output's scale.
    ranges = graph.ranges if style.dtype == "uint8" else graph.tied()
    for node in graph.nodes:
        file.weights = node.weights
        inputs = [tensors[kind.number] for kind in node.inputs]
        types = [
            Tensor(
                kind.shape,
                style.dtype if kind.dtype == QUANTIZED else kind.dtype,
                _quantization(node.operator, inputs, kind, style, ranges),
            )
            for kind in node.outputs
        ]
        written = node.operator.write(file, inputs, types)
        tensors.update((v.number, t) for v, t in zip(node.outputs, written, strict=True))
    return file.finish(name, [tensors[kind.number] for kind in graph.results])


def _quantization(
    operator: Operator, inputs: list[Tensor], kind: Kind, style: Style, ranges: dict[int, Range]
) -> Quantization | None:
    if kind.dtype != QUANTIZED or style.is_float:
        return None
    if operator.same_scale:
        return inputs[0].quantization
    if operator.lowest is not None:
        return style.prescribed(operator.lowest)
    return style.activation(*ranges[kind.number])
