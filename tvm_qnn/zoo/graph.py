"""A network as a graph of operators: topologies build it, `calibrate` and `emit` go through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tvm_qnn.zoo.file import QUANTIZED, Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun

Scaled = Callable[[int], int]
"""Maps a published number of channels to the one that is built."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph.

    Attributes:
        graph: where it is.
        number: which one, in the order in which they were made.
        shape: of one sample, with the batch's extent of 1 in front.
        dtype: "int32", "float32" and so on, or QUANTIZED for that of the model's activations.
        source: the number of the value whose scale it has, most often its own.
    """

    graph: Graph
    number: int
    shape: Shape
    dtype: str
    source: int


class Operator(ABC):
    """An operator with its attributes; calling it adds it to the graph of its inputs.

    Attributes:
        code: its name in TFLite.
        same_scale: whether its outputs have the scale of its first input.
        joins: whether, in signed models, its inputs must have the output's scale.
        lowest: the real value of the lowest integer, where TFLite prescribes the output's scale.
    """

    code: ClassVar[str]
    same_scale: ClassVar[bool] = False
    joins: ClassVar[bool] = False
    lowest: ClassVar[float | None] = None

    def __call__(self, *inputs: Value) -> Value:
        """Add the operator and return its output, or the first of several."""
        return self.outputs(*inputs)[0]

    def outputs(self, *inputs: Value) -> tuple[Value, ...]:
        """Add the operator and return all of its outputs."""
        return inputs[0].graph.add(self, *inputs)

    @abstractmethod
    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return the shapes of the outputs for those of the inputs."""

    @abstractmethod
    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Compute the outputs of all samples, whose number is the extent of each first axis.

        An operator with weights draws them here, and leaves them in `run.weights`.
        """

    def dtype(self, *dtypes: str) -> str:
        """Return the dtype of the outputs for those of the inputs: by default the first one's."""
        return dtypes[0] if dtypes else QUANTIZED

    def limits(self) -> tuple[float, float] | None:
        """Return the range of the outputs if it is known without a run."""
        return None

    def options(self) -> dict[str, Any]:
        """Return the options that TFLite's operator has."""
        return {}

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the constants that TFLite's operator takes after its inputs."""
        return []

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write the operator to a file; its outputs shall have these types."""
        constants = self.constants(file, inputs)
        tensors = [*(tensor.index for tensor in inputs), *constants]
        return file.layer(self.code, tensors, outputs, **self.options())


@dataclass(frozen=True)
class Node:
    """An operator in its place."""

    operator: Operator
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


@dataclass
class Graph:
    """Operators in the order in which they run.

    Attributes:
        nodes: the operators.
        values: how many values there are.
        results: the outputs of the network.
    """

    nodes: list[Node] = field(default_factory=list)
    values: int = 0
    results: tuple[Value, ...] = ()

    def add(self, operator: Operator, *inputs: Value) -> tuple[Value, ...]:
        """Add an operator, and return its outputs."""
        shapes = operator.shapes(*(value.shape for value in inputs))
        dtype = operator.dtype(*(value.dtype for value in inputs))
        outputs = []
        for shape in shapes:
            source = inputs[0].source if operator.same_scale else self.values
            outputs.append(Value(self, self.values, shape, dtype, source))
            self.values += 1
        self.nodes.append(Node(operator, inputs, tuple(outputs)))
        return self.nodes[-1].outputs
