"""Recurrent networks in the form in which TensorFlow's converter leaves them unfused: a WHILE."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range

_SIZE, _UNITS = 5, 8
_UNIT = Quantization.per_tensor(1 / 128, 0)  # of states, and of results of tanh
_GATE = Quantization.per_tensor(1 / 256, -128)  # of results of a sigmoid
_SUM = Quantization.per_tensor(0.05, 3)
_DATA = Quantization.per_tensor(0.02, -5)
_WEIGHTS = Quantization.per_tensor(0.004, 0)


def recurrent(cell: str, steps: int, *, sliced: bool, known: bool = True) -> bytes:
    """Return a network of one layer over time, whose outputs are all states, and the last one.

    Args:
        cell: "rnn", "gru" or "lstm".
        steps: the number of steps.
        sliced: whether a state becomes part of the list of all as older converters wrote it: by
            slices whose sizes depend on the time, which are joined. Else by DYNAMIC_UPDATE_SLICE.
        known: whether the number of iterations is a constant; else it is the second input.
    """
    writer = recurrent_writer(cell, steps, sliced=sliced, known=known)
    return writer.finish(*writer._ends)


def recurrent_writer(cell: str, steps: int, *, sliced: bool, known: bool = True) -> ModelWriter:
    """Return the writer of such a network, at its end."""
    writer = ModelWriter()
    data = writer.tensor("data", (1, steps, _SIZE), "int8", _DATA)
    order = _constant(writer, [1, 0, 2])
    inputs = writer.tensor("inputs", (steps, 1, _SIZE), "int8", _DATA)
    writer.operator("TRANSPOSE", [data, order], [inputs])
    states = ("state", "memory") if cell == "lstm" else ("state",)
    whole = steps, 1, _UNITS
    ends = writer.tensor("most", (), "int32", None, np.array(steps, np.int32) if known else None)
    begin = [_constant(writer, 0), _constant(writer, 0), ends]
    begin.append(writer.tensor("list", whole, "int8", _UNIT, np.zeros(whole, np.int8)))
    zeros = np.zeros((1, _UNITS), np.int8)
    begin += [writer.tensor(name, (1, _UNITS), "int8", _UNIT, zeros) for name in states]
    begin.append(inputs)
    kinds: list[Any] = [
        *((name, (), "int32", None) for name in ("counter", "time", "most")),
        ("list", whole, "int8", _UNIT),
        *((name, (1, _UNITS), "int8", _UNIT) for name in states),
        ("inputs", (steps, 1, _SIZE), "int8", _DATA),
    ]
    results = [writer.tensor(f"last_{name}", *kind) for name, *kind in kinds]
    subgraphs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    writer.operator("WHILE", begin, results, **subgraphs)
    _condition(writer.subgraph(), kinds)
    _body(writer.subgraph(), kinds, cell, sliced)
    made = writer.tensor("made", (1, steps, _UNITS), "int8", _UNIT)
    writer.operator("TRANSPOSE", [results[3], order], [made])
    writer.end([data] if known else [data, ends], [made, results[4]])
    return writer


def _constant(writer: ModelWriter, numbers: Any) -> int:
    array = np.array(numbers, np.int32)
    return writer.tensor("constant", array.shape, "int32", None, array)


def _condition(graph: ModelWriter, kinds: Sequence[Any]) -> None:
    places = [graph.tensor(*kind) for kind in kinds]
    flags = [graph.tensor(name, (), "bool") for name in ("a", "b", "both")]
    graph.operator("LESS", [places[0], places[2]], [flags[0]])
    graph.operator("LESS", [places[1], places[2]], [flags[1]])
    graph.operator("LOGICAL_AND", flags[:2], [flags[2]])
    graph.end(places, [flags[2]])


def _body(graph: ModelWriter, kinds: Sequence[Any], cell: str, sliced: bool) -> None:
    places = [graph.tensor(*kind) for kind in kinds]
    counter, time, most, made, state, *memory, inputs = places
    one = _constant(graph, 1)
    later = []
    for place in (counter, time):
        later.append(graph.tensor("later", (), "int32"))
        graph.operator("ADD", [place, one], [later[-1]], version=1)
    cells = _Cells(graph)
    row = cells.result("GATHER", [inputs, time], _DATA, (1, _SIZE), axis=0)
    new, *kept = _CELLS[cell](cells, row, state, *memory)
    put = _sliced if sliced else _updated
    graph.end(places, [*later, most, put(cells, kinds, made, time, new), new, *kept, inputs])


class _Cells:
    """Writes the operators of a cell."""

    def __init__(self, graph: ModelWriter) -> None:
        self.graph = graph
        self._rng = np.random.default_rng(3)

    def result(
        self,
        code: str,
        operands: Sequence[int],
        encoding: Quantization | None,
        shape: Sequence[int] = (1, _UNITS),
        dtype: str = "int8",
        **options: Any,
    ) -> int:
        name = code.lower()
        made = self.graph.tensor(name, shape, dtype, encoding)
        self.graph.operator(code, operands, [made], **options)
        return made

    def dense(self, data: int, size: int, parts: int) -> list[int]:
        """Multiply by weights, and take the parts of the result."""
        weights = np.maximum(full_range(self._rng, "int8", (parts * _UNITS, size)), -127)
        bias = self._rng.integers(-3000, 3000, parts * _UNITS).astype(np.int32)
        factor = _DATA if size == _SIZE else _UNIT
        encoding = Quantization.per_tensor(float(factor.scale[0]) * 0.004, 0)
        operands = [
            data,
            self.graph.tensor("weights", weights.shape, "int8", _WEIGHTS, weights),
            self.graph.tensor("bias", bias.shape, "int32", encoding, bias),
        ]
        whole = self.result("FULLY_CONNECTED", operands, _SUM, (1, parts * _UNITS))
        if parts == 1:
            return [whole]
        made = [self.graph.tensor("part", (1, _UNITS), "int8", _SUM) for _ in range(parts)]
        axis = _constant(self.graph, 1)
        self.graph.operator("SPLIT", [axis, whole], made, num_splits=parts)
        return made

    def sum(self, *operands: int, encoding: Quantization = _SUM) -> int:
        return self.result("ADD", operands, encoding)

    def product(self, *operands: int, encoding: Quantization = _UNIT) -> int:
        return self.result("MUL", operands, encoding)

    def gate(self, *operands: int) -> int:
        return self.result("LOGISTIC", [self.sum(*operands)], _GATE)

    def bent(self, operand: int) -> int:
        return self.result("TANH", [operand], _UNIT)


def _rnn(cells: _Cells, row: int, state: int) -> list[int]:
    (left,), (right,) = cells.dense(row, _SIZE, 1), cells.dense(state, _UNITS, 1)
    return [cells.bent(cells.sum(left, right))]


def _gru(cells: _Cells, row: int, state: int) -> list[int]:
    new, old = cells.dense(row, _SIZE, 3), cells.dense(state, _UNITS, 3)
    update, reset = cells.gate(new[0], old[0]), cells.gate(new[1], old[1])
    proposed = cells.bent(cells.sum(new[2], cells.product(reset, old[2], encoding=_SUM)))
    one = cells.graph.tensor("one", (), "int8", _GATE, np.array(127, np.int8))
    rest = cells.result("SUB", [one, update], _GATE)
    parts = cells.product(update, state), cells.product(rest, proposed)
    return [cells.sum(*parts, encoding=_UNIT)]


def _lstm(cells: _Cells, row: int, state: int, memory: int) -> list[int]:
    gates = [*zip(cells.dense(row, _SIZE, 4), cells.dense(state, _UNITS, 4), strict=True)]
    into, forget, out = (cells.gate(*gates[i]) for i in (0, 1, 3))
    proposed = cells.bent(cells.sum(*gates[2]))
    parts = cells.product(forget, memory), cells.product(into, proposed)
    kept = cells.sum(*parts, encoding=_UNIT)
    return [cells.product(out, cells.bent(kept)), kept]


_CELLS: dict[str, Any] = {"rnn": _rnn, "gru": _gru, "lstm": _lstm}


def _updated(cells: _Cells, kinds: Sequence[Any], made: int, time: int, new: int) -> int:
    zeros, whole = _constant(cells.graph, [0, 0]), kinds[3][1]
    begin = _joined(cells, [_vector(cells, time), zeros])
    axis = _constant(cells.graph, 0)
    row = cells.result("EXPAND_DIMS", [new, axis], _UNIT, (1, 1, _UNITS))
    return cells.result("DYNAMIC_UPDATE_SLICE", [made, row, begin], _UNIT, whole, version=1)


def _sliced(cells: _Cells, kinds: Sequence[Any], made: int, time: int, new: int) -> int:
    graph, whole = cells.graph, kinds[3][1]
    zeros, rest = _constant(graph, [0, 0]), _constant(graph, [-1, -1])
    following = cells.result("ADD", [time, _constant(graph, 1)], None, (), "int32", version=1)
    before = [_constant(graph, [0, 0, 0]), _joined(cells, [_vector(cells, time), rest])]
    after = [_joined(cells, [_vector(cells, following), zeros]), _constant(graph, [-1, -1, -1])]
    row = cells.result("EXPAND_DIMS", [new, _constant(graph, 0)], _UNIT, (1, 1, _UNITS))
    # Without a shape in the file their sizes are found in each iteration.
    parts = [cells.result("SLICE", [made, *ends], _UNIT, ()) for ends in (before, after)]
    return cells.result("CONCATENATION", [parts[0], row, parts[1]], _UNIT, whole, axis=0)


def _vector(cells: _Cells, number: int) -> int:
    return cells.result("EXPAND_DIMS", [number, _constant(cells.graph, 0)], None, (1,), "int32")


def _joined(cells: _Cells, parts: Sequence[int]) -> int:
    return cells.result("CONCATENATION", parts, None, (3,), "int32", axis=0)
