"""Random small quantized graphs, as a TFLite file holds them.

A graph begins with one tensor of random shape, dtype and encoding and grows by a few random
operators, each on what is there, with random attributes that LiteRT takes. Scales are such that
results use their range, now and then so that they saturate or vanish; weights and data use all of
theirs, or only its ends.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.arrays import Array
from tests.support.arrays import Chances, full_range
from tests.support.tflite import random_quantization

QUANTIZED = ("int8", "uint8", "int16")
OTHERS = ("int32", "int64", "float32", "bool")
"""Those of tensors that mean themselves."""
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
_ODD_SCALES = (0.05, 1e-3, 30.0)
ANY_RANK = range(99)


@dataclass(frozen=True)
class Value:
    """A tensor of a graph under way; only the quantized ones are grown from."""

    index: int
    shape: tuple[int, ...]
    dtype: str
    encoding: Quantization | None

    @property
    def quantization(self) -> Quantization:
        assert self.encoding is not None
        return self.encoding

    @property
    def scale(self) -> float:
        """That of its encoding; 1 where it means itself."""
        return 1.0 if self.encoding is None else float(self.encoding.scale[0])


class Graph(Chances):
    """A file under way; several graphs, which do not touch, may stand in one."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.inputs: list[int] = []
        self.arrays: list[Array] = []
        self.outputs: list[int] = []
        self.owners: list[int] = []  # the graph of each output
        self.codes: list[str] = []
        self.drawn: set[tuple[str, str, bool]] = set()  # of results: code, dtype, has a scale
        self.values: list[Value] = []  # of the graph under way
        self.bounds: dict[int, float] = {}  # how far a result may lie off, by tensor
        self.writer = ModelWriter()
        self._results: list[int] = []
        self._read: set[int] = set()
        self._count = self._graphs = 0

    def tensor(
        self, shape: Sequence[int], dtype: str, encoding: Quantization | None, data: Any = None
    ) -> Value:
        self._count += 1
        name, shape = f"t{self._count}", tuple(int(size) for size in shape)
        index = self.writer.tensor(name, shape, dtype, encoding, data)
        return Value(index, shape, dtype, encoding)

    def input(
        self, shape: Sequence[int], dtype: str, encoding: Quantization | None = None
    ) -> Value:
        if dtype in QUANTIZED and encoding is None:
            encoding = self.encoding(dtype)
        value = self.tensor(shape, dtype, encoding)
        self.inputs.append(value.index)
        self.arrays.append(self.data(dtype, value.shape))
        self.values += [value] if encoding is not None else []
        return value

    def reals(self, shape: Sequence[int], scale: float) -> Value:
        """Return an input of float32."""
        value = self.tensor(shape, "float32", None)
        self.inputs.append(value.index)
        self.arrays.append(self.rng.normal(0, 60 * scale, value.shape).astype(np.float32))
        return value

    def aside(self, array: Array, encoding: Quantization | None = None) -> int:
        """Add an input from which nothing grows."""
        value = self.tensor(array.shape, array.dtype.name, encoding)
        self.inputs.append(value.index)
        self.arrays.append(array)
        return value.index

    def constant(self, data: Any, quantization: Quantization | None = None) -> int:
        array = np.asarray(data)
        array = array.astype(np.int32) if array.dtype == np.int64 else array
        self._count += 1
        return self.writer.tensor(
            f"c{self._count}", array.shape, array.dtype.name, quantization, array
        )

    def filling(self, value: Value, shape: Sequence[int] = ()) -> int:
        """Add a constant of a value's type and encoding."""
        data = self.data(value.dtype, shape)
        return self.tensor(shape, value.dtype, value.encoding, data).index

    def operator(self, code: str, operands: Sequence[int], *results: Value, **options: Any) -> None:
        self.codes.append(code)
        weights = self.writer.dtype(operands[1]) if len(operands) > 1 else ""
        for each in results:
            is_hybrid = each.dtype == "float32" and weights in ("int8", "uint8")
            dtype = "hybrid" if is_hybrid else each.dtype
            self.drawn.add((code, dtype, each.encoding is not None))
        self.writer.operator(code, list(operands), [value.index for value in results], **options)
        self._read.update(operands)
        self._results += [value.index for value in results]
        self.values += [each for each in results if each.encoding and each.dtype in QUANTIZED]

    def result(self, like: Value, shape: Sequence[int], scale: float | None = None) -> Value:
        """A tensor of ``like``'s dtype, in its encoding or in a random one of about a scale."""
        if scale is None or like.encoding is None:
            return self.tensor(shape, like.dtype, like.encoding)
        # One in eight has a scale that does not fit: most saturates, or all is about zero.
        scale *= self.choice(*_ODD_SCALES) if self.chance(1 / 8) else 1
        scale = min(max(scale, 1e-5), 1e3)  # LiteRT aborts where a later one goes beyond
        return self.tensor(shape, like.dtype, self.encoding(like.dtype, scale))

    def encoding(self, dtype: str, scale: float = 0.05) -> Quantization:
        """Draw an encoding of about a scale, with any zero point, often one at its range's end.

        That of int16 is 0.
        """
        chosen = random_quantization(self.rng, dtype, scale)
        if dtype == "int16":
            return Quantization.per_tensor(float(chosen.scale[0]), 0)
        info = np.iinfo(dtype)
        if self.chance(1 / 4):
            point = self.choice(info.min, info.max, info.min, info.min + 128)
            chosen = Quantization.per_tensor(float(chosen.scale[0]), int(point))
        return chosen

    def data(self, dtype: str, shape: Sequence[int]) -> Array:
        """Numbers of all the range, or of its ends only; of float32 whole ones."""
        if dtype == "bool":
            return self.rng.random(tuple(shape)) < 0.5
        if dtype == "float32":
            return self.rng.integers(-99, 100, tuple(shape)).astype(dtype)
        numbers = full_range(self.rng, dtype, tuple(shape))
        if self.chance(1 / 6):
            info = np.iinfo(dtype)
            return np.where(numbers > info.min + 128, info.max, info.min).astype(dtype)
        return numbers

    def begin(self) -> None:
        """Begin another graph."""
        self.values, self._results, self._read = [], [], set()

    def end(self) -> None:
        """End a graph: its outputs are all unread values, and sometimes read ones, too."""
        ends = [i for i in self._results if i not in self._read or self.chance(0.1)]
        self.outputs += ends
        self.owners += [self._graphs] * len(ends)
        self._graphs += 1


Step = Callable[[Graph, Value], "Value | None"]
STEPS: list[Step] = []
INT16_STEPS: list[Step] = []
"""Those that take int16, too."""


def step(
    weight: int = 1,
    *,
    int16: bool = False,
    ranks: Container[int] = ANY_RANK,
    dtypes: Container[str] = (*QUANTIZED, *OTHERS),
) -> Callable[[Step], Step]:
    """Register one way to grow a graph, from values of these ranks and dtypes.

    It returns None where its operator does not fit.
    """

    def decorate(function: Step) -> Step:
        @wraps(function)
        def fitting(graph: Graph, value: Value) -> Value | None:
            fits = len(value.shape) in ranks and value.dtype in dtypes
            return function(graph, value) if fits else None

        STEPS.extend([fitting] * weight)
        INT16_STEPS.extend([fitting] * weight if int16 else [])
        return fitting

    return decorate
