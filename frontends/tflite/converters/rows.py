"""Finds the operators that write a row in files of old converters, without DYNAMIC_UPDATE_SLICE."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frontends.tflite.interface.ends import needed_operators
from frontends.tflite.model import Model, Operator
from frontends.tflite.operators import row_of
from frontends.tflite.options.base import Options


def with_rows_put(graph: Model) -> Model:
    """Return a subgraph in which one DYNAMIC_UPDATE_SLICE writes each new row of a list.

    Old converters join the rows before an index, the new row, and the rows after it. Their shapes
    depend on the index, which a loop counts.
    """
    finder = _Finder(graph)
    found = [finder.put(operator) or operator for operator in graph.operators]
    if all(new is old for new, old in zip(found, graph.operators, strict=True)):
        return graph
    graph = replace(graph, operators=tuple(found))
    return replace(graph, operators=needed_operators(graph, graph.outputs))


class _Finder:
    """Finds the operators that compute the operands of another one."""

    def __init__(self, graph: Model) -> None:
        self._graph = graph
        self._makers = {each.outputs[0]: each for each in graph.operators if each.outputs}

    def put(self, operator: Operator) -> Operator | None:
        """Return the operands of the row's update; None if the operator is not one."""
        options = operator.options
        if operator.code != "CONCATENATION" or options.activation != "NONE":
            return None
        if options.axis != 0 or len(operator.inputs) != 3:
            return None
        row = self._graph.tensors[operator.inputs[1]]
        before, after = (self._maker(operator.inputs[index], "SLICE") for index in (0, 2))
        if before is None or after is None or row.shape[:1] != (1,):
            return None
        rank = len(row.shape)
        data, begin, sizes = before.inputs
        if after.inputs[0] != data or not self._is_filled(begin, [0] * rank):
            return None
        index = self._first(sizes, -1, rank)
        following = self._first(after.inputs[1], 0, rank)
        if not self._is_filled(after.inputs[2], [-1] * rank) or index is None or following is None:
            return None
        if not self._follows(index, following) or not self._are_copied(data, operator):
            return None
        # The sizes of the rows before it are also an index: -1 is moved inside, to 0.
        return replace(
            operator,
            code="DYNAMIC_UPDATE_SLICE",
            inputs=(data, row.index, sizes),
            options=Options(),
        )

    def _maker(self, index: int, *codes: str) -> Operator | None:
        maker = self._makers.get(index)
        return maker if maker is not None and maker.code in codes else None

    def _is_filled(self, index: int, numbers: Sequence[int]) -> bool:
        data = self._graph.tensors[index].data
        return data is not None and np.array_equal(data, numbers)

    def _first(self, index: int, other: int, rank: int) -> int | None:
        """Return the first number of a vector whose other numbers are all equal."""
        maker = self._maker(index, "CONCATENATION", "PACK")
        if maker is None:
            return None
        constants = [self._graph.tensors[each].data for each in maker.inputs[1:]]
        numbers = [n for each in constants if each is not None for n in each.ravel().tolist()]
        if any(each is None for each in constants) or numbers != [other] * (rank - 1):
            return None
        return self._number(maker.inputs[0])

    def _number(self, index: int) -> int:
        """Return the tensor of a number before its shape changes."""
        while (maker := self._makers.get(index)) is not None and row_of(maker.code).reshapes:
            index = maker.inputs[0]
        return index

    def _follows(self, place: int, following: int) -> bool:
        """Tell whether the second number is the first plus 1."""
        maker = self._maker(following, "ADD")
        if maker is None:
            return False
        terms = [self._number(index) for index in maker.inputs]
        ones = [self._graph.tensors[index].data for index in maker.inputs]
        return any(
            terms[i] == place and (one := ones[1 - i]) is not None and np.all(one == 1)
            for i in range(2)
        )

    def _are_copied(self, data: int, operator: Operator) -> bool:
        """Tell whether all rows keep their bytes; rows of uint8 change if scales differ."""
        tensors = [self._graph.tensors[i] for i in (data, operator.inputs[1], operator.outputs[0])]
        known = [each.quantization for each in tensors]
        encodings = {each and (float(each.scale[0]), int(each.zero_point[0])) for each in known}
        return tensors[0].dtype != "uint8" or len(encodings) == 1
