"""Merges functions that differ only in numbers, which the merged function takes as arguments.

Layers of a network often have one kind and different sizes, and so have their functions. Merging
keeps their common code in flash only once.

An integer of a function is identified by its index among all its integers. Functions that differ
only in their integers have the same indices: a walk visits every occurrence in one order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm.tirx.buffer import decl_buffer
from tvm_ffi import structural_map, structural_walk

Numbers = tuple[int, ...]

_NAME = "global_symbol"

# Calls whose integers may be computed; those of LLVM's instructions, and of others, may not.
_COMPUTED = {
    f"tirx.{name}"
    for name in (
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"),
        *("address_of", "if_then_else", "call_extern", "call_pure_extern"),
    )
}


@dataclass(frozen=True)
class Merged:
    """The functions to compile, and how they are called.

    Attributes:
        functions: the functions by name.
        calls: for each original function, the name of the function that replaces it, and the
            numbers to pass after its pointers.
    """

    functions: dict[str, tirx.PrimFunc]
    calls: dict[str, tuple[str, Numbers]]


def apart(functions: Mapping[str, tirx.PrimFunc]) -> Merged:
    """Return the functions unchanged."""
    return Merged(dict(functions), {name: (name, ()) for name in functions})


def merge(functions: Mapping[str, tirx.PrimFunc]) -> Merged:
    """Return as few functions as possible that compute the same.

    Args:
        functions: functions by name, with pointers as parameters; the first of similar ones stays.
    """
    groups: list[dict[str, _Read]] = []
    for name, function in functions.items():
        read = _Read(function)
        own = next((group for group in groups if read.is_like(next(iter(group.values())))), None)
        if own is None:
            groups.append({name: read})
        else:
            own[name] = read
    result = Merged({}, {})
    for group in groups:
        first, *_ = group
        function, numbers = _merged([*group.values()])
        result.functions[first] = function
        result.calls.update({name: (first, own) for name, own in zip(group, numbers, strict=True)})
    return result


@dataclass
class _Read:
    """A function's integers in order.

    Attributes:
        function: the function.
        integers: all its integers.
        fixed: the indices of integers that LLVM has to know.
        shapes: the indices of integers in shapes of buffers that only state the memory's size.
        sizes: the elements of each of the function's own buffers.
        is_flat: whether every load and store has a single index.
        skeleton: the function with zeros in place of the integers that arguments can replace.
    """

    function: tirx.PrimFunc
    integers: list[tirx.IntImm] = field(default_factory=list)
    fixed: set[int] = field(default_factory=set)
    shapes: set[int] = field(default_factory=set)
    sizes: list[int] = field(default_factory=list)
    is_flat: bool = True
    skeleton: Any = None

    def __post_init__(self) -> None:
        """Read the function."""
        structural_walk(
            self.function.body, [(TensorLoad, self._access), (tirx.BufferStore, self._access)]
        )
        structural_map(
            self.function.body,
            [
                (tirx.IntImm, self._integer),
                (tirx.Ramp, lambda node: self._fix(node, (node.stride, node.lanes))),
                (tirx.Broadcast, lambda node: self._fix(node, (node.lanes,))),
                (tirx.Shuffle, lambda node: self._fix(node, tuple(node.indices))),
                (tirx.AttrStmt, self._attribute),
                (tvm.ir.Call, self._call),
                (tirx.AllocBuffer, self._own),
                (tirx.DeclBuffer, self._declared),
            ],
        )
        self.skeleton = self.replaced(
            lambda place, node: node if place in self.fixed else tirx.IntImm(node.ty.dtype, 0)
        )

    def replaced(self, change: Any, *rules: Any) -> Any:
        """Return the body with other integers.

        Args:
            change: returns the new value for an index and the integer there.
            rules: more rules of ``structural_map``.
        """
        places = iter(range(len(self.integers)))
        body = structural_map(
            self.function.body, [(tirx.IntImm, lambda node: change(next(places), node)), *rules]
        )
        assert next(places, None) is None, "a walk has left integers out"
        return body

    def is_like(self, other: _Read) -> bool:
        """Tell whether functions differ only in integers that arguments can replace."""
        mine, its = (each.function for each in (self, other))
        kinds = [[str(param.ty) for param in each.params] for each in (mine, its)]
        if kinds[0] != kinds[1] or len(self.integers) != len(other.integers):
            return False
        if (self.fixed, self.shapes) != (other.fixed, other.shapes):
            return False
        if not tvm_ffi.structural_equal(_attributes(mine), _attributes(its)):
            return False
        first, second = (
            tirx.PrimFunc(each.function.params, each.skeleton) for each in (self, other)
        )
        return bool(tvm_ffi.structural_equal(first, second, map_free_vars=True))

    def _integer(self, node: tirx.IntImm) -> tirx.IntImm:
        info = np.iinfo(np.int32)
        if str(node.ty.dtype) == "bool" or not info.min <= int(node.value) <= info.max:
            self.fixed.add(len(self.integers))
        self.integers.append(node)
        return node

    def _access(self, node: Any) -> None:
        self.is_flat = self.is_flat and len(node.indices) == 1

    def _last(self, node: Any) -> range:
        """Return the indices of the integers of the node that the walk read last."""
        end = len(self.integers)
        return range(end - _count(node), end)

    def _fix(self, node: Any, parts: Sequence[Any]) -> Any:
        """Fix the integers of a node's last parts."""
        count = sum(map(_count, parts))
        self.fixed.update(self._last(node)[-count:] if count else ())
        return node

    def _attribute(self, node: tirx.AttrStmt) -> tirx.AttrStmt:
        places = self._last(node)
        self.fixed.update(places[: len(places) - _count(node.body)])
        return node

    def _call(self, node: tvm.ir.Call) -> tvm.ir.Call:
        places = self._last(node)
        place = places.start
        for argument in node.args:
            if isinstance(argument, tirx.IntImm) and node.op.name not in _COMPUTED:
                self.fixed.add(place)
            place += _count(argument)
        self.fixed.update(range(place, places.stop))
        return node

    def _own(self, node: tirx.AllocBuffer) -> tirx.AllocBuffer:
        self._shape(node, node.buffer)
        self.sizes.append(prod(map(int, node.buffer.shape)))
        return node

    def _declared(self, node: tirx.DeclBuffer) -> tirx.DeclBuffer:
        self._shape(node, node.buffer, node.data)
        return node

    def _shape(self, node: Any, buffer: Any, data: Any = None) -> None:
        """Read a buffer's shape, which may only state its memory's size."""
        # A shape of one axis does not matter, nor one of more axes whose buffer nothing accesses.
        is_plain = (len(buffer.shape) == 1 or self.is_flat) and not len(buffer.strides or ())
        is_plain = is_plain and int(buffer.elem_offset or 0) == 0
        is_plain = is_plain and (data is None or _count(data) == 0)
        (self.shapes if is_plain else self.fixed).update(self._last(node))


def _attributes(function: tirx.PrimFunc) -> dict[str, Any]:
    return {key: value for key, value in function.attrs.items() if key != _NAME}


def _count(node: Any) -> int:
    found = 0

    def count(integer: tirx.IntImm) -> tirx.IntImm:
        nonlocal found
        found += 1
        return integer

    structural_map(node, [(tirx.IntImm, count)])
    return found


def _merged(reads: Sequence[_Read]) -> tuple[tirx.PrimFunc, list[Numbers]]:
    """Return one function for several similar ones, and the numbers to pass for each of them."""
    first, *_ = reads
    rows = [
        tuple(int(each.value) for each in own)
        for own in zip(*(read.integers for read in reads), strict=True)
    ]
    differ = {place for place, row in enumerate(rows) if len({*row}) > 1} - first.shapes
    arguments = _arguments({rows[place] for place in differ})
    parameters = {row: tirx.Var(f"number_{i}", "int32") for i, row in enumerate(arguments)}

    def number(place: int, node: tirx.IntImm) -> Any:
        if place not in differ:
            return node
        row, factor = next(
            (row, factor) for row in arguments if (factor := _factor(rows[place], row))
        )
        value = parameters[row] if factor == 1 else parameters[row] * tirx.IntImm("int32", factor)
        return value if str(node.ty.dtype) == "int32" else tirx.Cast(node.ty.dtype, value)

    sizes = iter([max(own) for own in zip(*(read.sizes for read in reads), strict=True)])

    def own(node: tirx.AllocBuffer) -> tirx.Stmt:
        buffer, size = node.buffer, next(sizes)
        if size == prod(map(int, buffer.shape)):
            return node
        large = decl_buffer((size,), buffer.dtype, buffer.name, scope=buffer.scope())
        return tirx.SeqStmt([tirx.AllocBuffer(large), tirx.DeclBuffer(buffer, data=large.data)])

    body = first.replaced(number, (tirx.AllocBuffer, own))
    given = [*first.function.params, *parameters.values()]
    function = tirx.PrimFunc(given, body, None, first.function.attrs)
    return function, [*zip(*arguments, strict=True)] or [()] * len(reads)


def _arguments(rows: set[Numbers]) -> list[Numbers]:
    """Return the fewest rows of which all others are multiples."""
    kept: list[Numbers] = []
    for row in sorted(rows, key=lambda row: (sum(map(abs, row)), row)):
        if not any(_factor(row, other) for other in kept):
            kept.append(row)
    return kept


def _factor(row: Numbers, other: Numbers) -> int:
    """Return the f with row = f · other; 0 if there is none. Not all of ``other`` are 0."""
    at = next(i for i, each in enumerate(other) if each)
    factor = row[at] // other[at]
    return factor if tuple(factor * each for each in other) == row else 0
