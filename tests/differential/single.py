"""Steps of one operator, drawn by the rules of single operators in `tests/edges`."""

from collections.abc import Sequence
from math import prod
from typing import Any

from frontends.tflite.quantization import Quantization
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tests.differential.graphs import OTHERS, QUANTIZED, Graph, Step, Value, step
from tests.edges import arithmetic, choices, moves, places, rows, stablehlo, states  # noqa: F401 (registers their operators)
from tests.edges.draw import ENCODED, RULES, Draw
from tests.support.children import without_stderr
from tvm_qnn.oracle import litert_tensors

_MOST = 20_000
"""The most elements of a result."""
_MOST_SUMS = 128
"""The most running sums of float32 that are imported."""
_MOVES = (
    *("ARG_MAX", "ARG_MIN", "BITWISE_XOR", "BROADCAST_TO", "CONCATENATION", "DILATE"),
    *("DYNAMIC_UPDATE_SLICE", "EMBEDDING_LOOKUP", "EXPAND_DIMS", "FILL", "GATHER", "GATHER_ND"),
    *("HASHTABLE_LOOKUP", "MATRIX_DIAG", "MATRIX_SET_DIAG", "MAXIMUM", "MINIMUM", "MIRROR_PAD"),
    *("PACK", "PAD", "PADV2", "REDUCE_MAX", "REDUCE_MIN", "RESHAPE", "REVERSE_SEQUENCE"),
    *("RIGHT_SHIFT", "SCATTER_ND", "SELECT", "SELECT_V2", "SPLIT", "SPLIT_V", "SQUEEZE"),
    *("STABLEHLO_ADD", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "STABLEHLO_MULTIPLY"),
    *("STABLEHLO_PAD", "TILE", "TOPK_V2", "TRANSPOSE", "UNPACK"),
)
_SLICES = ("STABLEHLO_GATHER", "STABLEHLO_SCATTER")
_WINDOWS = ("REDUCE_WINDOW", "STABLEHLO_REDUCE_WINDOW")
CODES = (*_MOVES, *_SLICES, *_WINDOWS)
"""Operators of integers of any type."""
_OF_NUMBERS = (
    *("BUCKETIZE", "CUMSUM", "ONE_HOT"),
    *(f"UNSORTED_SEGMENT_{name}" for name in ("MAX", "MIN", "PROD", "SUM")),
)


class Reading(Draw):
    """An operator without mistakes that reads a value: the first shape and type are the value's."""

    def __init__(self, graph: Graph, value: Value, code: str) -> None:
        super().__init__(graph.rng, code)
        self.graph, self.value, self.writer = graph, value, graph.writer
        self.results: list[Value] = []
        self.shapes: list[Sequence[int]] = []
        self._first: dict[str, Any] = vars(value) | {"operand": value.index}

    def odd(self, share: float) -> bool:
        return False

    def size(self) -> int:
        return max(super().size(), 1)

    def shape(self, lowest: int = 0, highest: int = 6) -> tuple[int, ...]:
        shape = self._first.pop("shape", None) or super().shape(lowest, highest)
        if not lowest <= len(shape) <= highest:
            raise QnnError("no value of this rank")
        return shape

    def dtype(self) -> str:
        return self._first.pop("dtype", None) or super().dtype()

    def computed_dtype(self) -> str:
        return self._first.pop("dtype", None) or super().computed_dtype()

    def dtype_of(self, *dtypes: str) -> str:
        if self.value.dtype not in dtypes:
            raise QnnError("no value of these types")
        return self.dtype()

    def encoding(self, dtype: str, scale: float = 0.05) -> Quantization | None:
        if dtype == self.value.dtype and "encoding" in self._first:
            return self._first.pop("encoding")
        return self.graph.encoding(dtype, scale) if dtype in ENCODED else None

    def data(self, dtype: str, shape: Sequence[int]) -> Array:
        return self.graph.data(dtype, shape)

    def operand(
        self, shape: Sequence[int], dtype: str, encoding: Quantization | None = None
    ) -> int:
        kind = tuple(shape), dtype, encoding
        known = self.value.shape, self.value.dtype, self.value.encoding
        if kind == known and "operand" in self._first:
            return self._first.pop("operand")
        return super().operand(shape, dtype, encoding)

    def input(self, array: Array, quantization: Quantization | None = None) -> int:
        return self.graph.aside(array, quantization)

    def constant(self, array: Any, quantization: Quantization | None = None) -> int:
        return self.graph.tensor(array.shape, array.dtype.name, quantization, array).index

    def make(
        self,
        operands: Sequence[int],
        *outputs: tuple[str, Quantization | None],
        shape: Sequence[int] = (1,),
        **options: Any,
    ) -> None:
        shapes = self.shapes or [shape] * len(outputs)
        for made, (dtype, encoding) in zip(shapes, outputs, strict=True):
            self.results.append(self.graph.tensor(made, dtype, encoding))
        self.graph.operator(self.code, operands, *self.results, **options)


def single(*codes: str) -> Step:
    """Return a step of one of these operators; it returns None if LiteRT refuses what is drawn."""

    def draw(graph: Graph, value: Value) -> Value | None:
        code = str(graph.choice(*codes))
        if code == "CUMSUM" and value.dtype == "float32" and max(value.shape) > _MOST_SUMS:
            return None
        state = graph.rng.bit_generator.state
        try:
            shapes = _shapes(graph, value, code)
        except QnnError:
            return None
        if not all(0 < len(shape) < 6 and 0 < prod(shape) <= _MOST for shape in shapes):
            return None
        graph.rng.bit_generator.state = state
        reading = Reading(graph, value, code)
        reading.shapes = shapes
        RULES[code](reading)
        result = reading.results[0]
        is_alike = (result.encoding is None) == (value.encoding is None)
        return result if is_alike and result.dtype in (*QUANTIZED, *OTHERS) else value

    draw.__name__ = "_".join(codes)
    return draw


def _shapes(graph: Graph, value: Value, code: str) -> list[Sequence[int]]:
    """Return the shapes that LiteRT gives the results of what is drawn now."""
    trial = Graph(graph.rng)
    data = trial.tensor(value.shape, value.dtype, value.encoding)
    reading = Reading(trial, data, code)
    RULES[code](reading)
    trial.inputs.insert(0, data.index)
    trial.arrays.insert(0, graph.data(value.dtype, value.shape))
    outputs = [result.index for result in reading.results]
    with without_stderr():
        found = litert_tensors(trial.writer.finish(trial.inputs, outputs), trial.arrays)
    if any(found[each.index].dtype != each.dtype for each in reading.results):
        raise QnnError("LiteRT gives a result another type")
    return [found[index].shape for index in outputs]


_BY_DTYPE = {
    **dict.fromkeys(QUANTIZED, single(*CODES)),
    **dict.fromkeys(("int32", "int64"), single(*CODES, *_OF_NUMBERS)),
    "float32": single(*_MOVES, *_SLICES, *_OF_NUMBERS),
    "bool": single(*_MOVES),
}


@step(weight=30, int16=True)
def move(graph: Graph, value: Value) -> Value | None:
    """Move or compare elements, or combine integers, whatever they mean."""
    return _BY_DTYPE[value.dtype](graph, value)
