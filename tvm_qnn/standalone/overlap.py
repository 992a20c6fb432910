"""How far a function's output may overlap its input, so that no element is lost before its use."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm_ffi import structural_walk

from legalize.kernels.isa.helium import COUNT, FOUR, SAME
from legalize.kernels.isa.helium_columns import CHANNELS, SPREAD
from legalize.kernels.isa.helium_copies import COPY, COPY_COLUMNS, FILL, STORE
from legalize.kernels.isa.helium_sums import PIXELS, SUMS
from legalize.kernels.isa.helium_tiles import TILE
from legalize.kernels.isa.mcu import NUMBER, TWO_WORDS
from tvm_qnn.standalone.shared import owner
from tvm_qnn.standalone.spans import Span, combined, exactly, joined, negated
from tvm_qnn.standalone.uses import Pair, Uses

# Nested loops are followed iteration by iteration, up to this many iterations in all.
_TURNS = 1 << 16


class _UnreadableError(Exception):
    """A function contains something that this code does not understand."""


def leads(function: tirx.PrimFunc, alignment: int) -> dict[Pair, int]:
    """Return how many bytes an output must begin before an input, at least, to overlap it.

    With a negative lead the output may begin after the input, by this many bytes. There is a
    lead for each pair of a parameter that is only read and one that is written. Leads are bounds:
    they follow from the order of the function's loads and stores in its loops.

    Args:
        function: a lowered function, with buffers of one dimension.
        alignment: the most bytes of an element.

    Returns:
        The leads between tensors of the first output's dtype; empty if the function contains
        something that this code does not understand.
    """
    reader = _Reader(function)
    try:
        uses = reader.statement(function.body)
    except _UnreadableError:
        return {}
    sizes = [size_of_buffer(parameter) for parameter in function.params]
    dtypes = [str(parameter.dtype) for parameter in function.params]
    kind = dtypes[min(reader.written)] if reader.written else ""
    items = map(_item_size, function.params)
    fits = [dtype == kind and item <= alignment for dtype, item in zip(dtypes, items, strict=True)]
    alike = [number for number, is_alike in enumerate(fits) if is_alike]
    return {
        (source, target): int(max(uses.gap(source, target).max(), -sizes[source]))
        for source in alike
        for target in alike
        if source not in reader.written and target in reader.written
    }


def size_of_buffer(buffer: Any) -> int:
    """Count the bytes of a buffer whose shape is known."""
    return prod(int(extent) for extent in buffer.shape) * _item_size(buffer)


def _item_size(buffer: Any) -> int:
    dtype = tvm.DataType(buffer.dtype)
    return int((dtype.bits * dtype.lanes + 7) // 8)


class _Reader:
    """Follows a function's code in order, for all iterations of the surrounding loops at once."""

    def __init__(self, function: tirx.PrimFunc) -> None:
        self.written: set[int] = set()
        self._numbers = {parameter: n for n, parameter in enumerate(function.params)}
        # The memory in which a buffer lies, identified by its first buffer.
        self._memory: dict[Any, Any] = {parameter: parameter for parameter in function.params}
        # The known values of variables, and of memory that holds one number.
        self._values: dict[Any, Span] = {}
        self._turns = 1
        structural_walk(function.body, lambda node: self._declare(node))

    def _declare(self, node: Any) -> None:
        if isinstance(node, tirx.AllocBuffer):
            self._memory[node.buffer] = node.buffer
        if not isinstance(node, tirx.DeclBuffer):
            return
        self._memory[node.buffer] = self._memory.get(owner(node))

    def statement(self, node: Any) -> Uses:
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise _UnreadableError
        return rule(self, node)

    def _sequence(self, node: tirx.SeqStmt) -> Uses:
        uses = Uses()
        for each in node.seq:
            uses = uses.then(self.statement(each))
        return uses

    def _binding(self, node: tirx.Bind) -> Uses:
        uses, span = self.value(node.value)
        self._values[node.var] = span
        return uses

    def _store(self, node: tirx.BufferStore) -> Uses:
        uses, value = self.value(node.value)
        more, place = self._index(node.indices)
        uses = uses.then(more)
        memory = self._memory_of(node.buffer)
        if memory not in self._numbers:
            self._values[memory] = value if _is_number(node.buffer) else None
            return uses
        return uses.then(self._written(node.buffer, place, 0))

    def _written(self, buffer: Any, place: Span, most: int) -> Uses:
        """Return the uses of a store to an argument, up to ``most`` elements behind an index."""
        number = self._numbers[self._memory_of(buffer)]
        self.written.add(number)
        end = np.array([size_of_buffer(buffer)])
        if place is not None:
            end = np.minimum((place[1] + 1 + most) * _item_size(buffer), end)
        return Uses(writes={number: end})

    def _branch(self, node: tirx.IfThenElse) -> Uses:
        uses, condition = self.value(node.condition)
        branches = [(node.then_case, condition), (node.else_case, negated(condition))]
        for case, is_taken in branches:
            if case is None:
                continue
            known = dict(self._values)
            inner = self.statement(case)
            self._forget(known)
            uses = uses.then(inner if is_taken is None else inner.where(is_taken[1] > 0))
        return uses

    def _loop(self, node: tirx.For) -> Uses:
        first, turns, outer = self._number(node.min), self._number(node.extent), self._turns
        if turns < 1 or (node.step is not None and int(node.step) != 1):
            raise _UnreadableError
        known = dict(self._values)
        # An iteration may find values that the iteration before it has stored.
        changed = self._changed(node)
        self._values = {key: span for key, span in known.items() if key not in changed}
        is_followed = outer * turns <= _TURNS
        if is_followed:
            self._turns = outer * turns
            self._values = {key: _spread(span, turns) for key, span in self._values.items()}
            number = np.tile(np.arange(first, first + turns), outer)
            self._values[node.loop_var] = number, number
        else:
            self._values[node.loop_var] = np.array([first]), np.array([first + turns - 1])
        uses = self.statement(node.body)
        uses = uses.repeated(outer, turns) if is_followed else uses.in_any_order()
        self._turns = outer
        self._values = {key: span for key, span in known.items() if key not in changed}
        return uses

    def _number(self, node: Any) -> int:
        _, span = self.value(node)
        if span is None or span[0].size > 1 or (span[0] != span[1]).any():
            raise _UnreadableError
        return int(span[0][0])

    def _changed(self, loop: tirx.For) -> set[Any]:
        """Return the memory to which a loop stores."""
        stored: set[Any] = set()
        note = (tirx.BufferStore, lambda node: stored.add(self._memory_of(node.buffer)))
        structural_walk(loop.body, note)
        return stored

    def _memory_of(self, buffer: Any) -> Any:
        memory = self._memory.get(buffer)
        if memory is None or int(buffer.elem_offset) != 0:
            raise _UnreadableError
        return memory

    def _index(self, indices: Any) -> tuple[Uses, Span]:
        lanes = [tvm.DataType(str(index.ty.dtype)).lanes for index in indices]
        if len(lanes) != 1 or (lanes[0] > 1 and not isinstance(indices[0], tirx.Ramp)):
            raise _UnreadableError
        return self.value(indices[0])

    def _forget(self, known: dict[Any, Span]) -> None:
        """Forget values that have changed: an earlier value may hold or not."""
        changed = {key for key, span in self._values.items() if known.get(key) is not span}
        self._values = {key: None if key in changed else span for key, span in known.items()}

    def value(self, node: Any) -> tuple[Uses, Span]:
        """Return the reads of an expression's computation, and its span."""
        if isinstance(node, tirx.IntImm):
            return Uses(), exactly(int(node.value))
        rule = _VALUES.get(type(node))
        if rule is not None:
            return rule(self, node)
        names = _PARTS.get(type(node))
        if names is None:
            raise _UnreadableError
        uses, spans = self._all(getattr(node, name) for name in names)
        return uses, combined(type(node), *spans) if names == _TWO else None

    def _all(self, nodes: Any) -> tuple[Uses, list[Span]]:
        uses, spans = Uses(), []
        for node in nodes:
            more, span = self.value(node)
            uses = uses.then(more)
            spans.append(span)
        return uses, spans

    def _variable(self, node: tirx.Var) -> tuple[Uses, Span]:
        if not isinstance(node.ty, tvm.ir.PrimType):
            raise _UnreadableError  # a pointer to unknown memory
        return Uses(), self._values.get(node)

    def _cast(self, node: tirx.Cast) -> tuple[Uses, Span]:
        uses, span = self.value(node.value)
        is_wide = str(node.ty.dtype) in ("int32", "int64")
        return uses, span if is_wide else None

    def _not(self, node: tirx.Not) -> tuple[Uses, Span]:
        uses, span = self.value(node.a)
        return uses, negated(span)

    def _select(self, node: tirx.Select) -> tuple[Uses, Span]:
        uses, (_, *values) = self._all([node.condition, node.true_value, node.false_value])
        return uses, joined(*values)

    def _ramp(self, node: tirx.Ramp) -> tuple[Uses, Span]:
        uses, (base, stride) = self._all([node.base, node.stride])
        if base is None or stride is None:
            return uses, None
        last = stride[0] * (int(node.lanes) - 1), stride[1] * (int(node.lanes) - 1)
        return uses, (base[0] + np.minimum(last[0], 0), base[1] + np.maximum(last[1], 0))

    def _list(self, node: Any) -> tuple[Uses, Span]:
        uses, _ = self._all([*node.vectors, *node.indices])
        return uses, None

    def _call(self, node: tvm.ir.Call) -> tuple[Uses, Span]:
        if isinstance(node.op, tvm.ir.Op) and node.op.name in _EXTERN:
            return self._extern(*node.args)
        # A function that returns a pointer hides what is read through it.
        is_number = isinstance(node.ty, tvm.ir.PrimType) and str(node.ty.dtype) != "handle"
        if not isinstance(node.op, tvm.ir.Op) or not is_number:
            raise _UnreadableError
        return self._all(node.args)[0], None

    def _extern(self, name: tvm.ir.StringImm, *operands: Any) -> tuple[Uses, Span]:
        if name.value in (SAME, COUNT, NUMBER):
            return self.value(operands[0])
        if name.value.startswith(STORE):
            place, *others = operands
            return self._moved(place, others, FOUR - 1), None
        if name.value.startswith(CHANNELS):
            place, *others, count = operands
            return self._moved(place, others, int(count) - 1), None
        if name.value.startswith(TILE):
            return self._tile(*operands), None
        if name.value in _MOVES or name.value.startswith(SUMS):
            place, *others = operands
            return self._moved(place, others, None), None
        if name.value != TWO_WORDS:
            raise _UnreadableError
        (place,) = operands
        return self._load(place.args[0])[0], None

    def _tile(self, to: Any, *others: Any) -> Uses:
        groups, pitch = map(self._number, others[-2:])
        uses = self._moved(to, others, (PIXELS - 1) * pitch + groups * FOUR - 1)
        # It may read again after it has written.
        return uses.then(uses)

    def _moved(self, place: Any, others: Sequence[Any], most: int | None) -> Uses:
        """Return the uses of a function that writes from an element on.

        Args:
            place: the first element.
            others: its further arguments; addresses among them are elements from which it reads on.
            most: how many elements behind the first it writes at most; None if unknown.
        """
        uses = Uses()
        for each in others:
            is_place = isinstance(each, tvm.ir.Call) and each.op.name == "tirx.address_of"
            more, _ = self._load(each.args[0]) if is_place else self.value(each)
            uses = uses.then(more)
        (target,) = place.args
        more, start = self._index(target.indices)
        uses = uses.then(more)
        if self._memory_of(target.source) not in self._numbers:
            return uses
        return uses.then(self._written(target.source, None if most is None else start, most or 0))

    def _load(self, node: Any) -> tuple[Uses, Span]:
        memory = self._memory_of(node.source)
        uses, place = self._index(node.indices)
        if memory not in self._numbers:
            return uses, self._values.get(memory) if _is_number(node.source) else None
        least = np.array([0])
        start = least if place is None else np.maximum(place[0] * _item_size(node.source), least)
        return uses.then(Uses(reads={self._numbers[memory]: start})), None


def _is_number(buffer: Any) -> bool:
    return prod(map(int, buffer.shape)) == 1 and str(buffer.dtype) in _INTEGERS


def _spread(span: Span, turns: int) -> Span:
    """Return a span in each iteration of a loop, from that in each iteration around the loop."""
    if span is None or (span[0].size == 1 and span[1].size == 1):
        return span
    low, high = (np.repeat(each, turns) if each.size > 1 else each for each in span)
    return low, high


_EXTERN = ("tirx.call_extern", "tirx.call_pure_extern")
_MOVES = (COPY, FILL, COPY_COLUMNS, SPREAD)
_INTEGERS = ("int32", "int64")
_TWO = ("a", "b")
_BINARY = (
    *(tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod),
    *(tirx.Min, tirx.Max, tirx.And, tirx.Or, tirx.LShift, tirx.RShift),
    *(tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor),
    *(tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE),
)
_PARTS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys(_BINARY, _TWO),
    tirx.BitwiseNot: ("a",),
    tirx.Broadcast: ("value",),
    tirx.FloatImm: (),
    tvm.ir.StringImm: (),
}
_VALUES: dict[type, Callable[[_Reader, Any], tuple[Uses, Span]]] = {
    tirx.Var: _Reader._variable,
    tirx.Cast: _Reader._cast,
    tirx.Not: _Reader._not,
    tirx.Select: _Reader._select,
    tirx.Ramp: _Reader._ramp,
    tirx.Shuffle: _Reader._list,
    tvm.ir.Call: _Reader._call,
    TensorLoad: _Reader._load,
}
_STATEMENTS: dict[type, Callable[[_Reader, Any], Uses]] = {
    tirx.SeqStmt: _Reader._sequence,
    tirx.AllocBuffer: lambda _reader, _node: Uses(),
    tirx.DeclBuffer: lambda _reader, _node: Uses(),
    tirx.AttrStmt: lambda reader, node: reader.statement(node.body),
    tirx.Bind: _Reader._binding,
    tirx.Evaluate: lambda reader, node: reader.value(node.value)[0],
    tirx.BufferStore: _Reader._store,
    tirx.IfThenElse: _Reader._branch,
    tirx.For: _Reader._loop,
}
