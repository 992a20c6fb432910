"""Reads the loops of TIR functions that compute the rows of tensors one by one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np
import tvm
from tvm import s_tir, sym, tirx
from tvm.ir.expr import TensorLoad
from tvm.tirx.buffer import decl_buffer
from tvm_ffi import structural_map

from legalize.kernels.kernel import IS_KERNEL
from legalize.loop_functions import nodes_in

_LOOPS = tvm.transform.Sequential(
    [
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
        s_tir.transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
    ]
)


@dataclass(frozen=True)
class Nest:
    """Perfectly nested loops of a function.

    Attributes:
        loops: the loops, beginning with the outermost one.
        extents: the loops' extents.
        body: the body of the innermost loop.
    """

    loops: tuple[tirx.For, ...]
    extents: tuple[int, ...]
    body: tirx.Stmt

    @property
    def counts(self) -> dict[int, int]:
        """The number of outermost loops, by their total number of iterations."""
        return {count: depth for depth, count in enumerate(accumulate(self.extents, mul), 1)}


@dataclass(frozen=True)
class Loops:
    """A function that consists of loops over tensors of one axis.

    Attributes:
        parameters: the given tensors, in the order of the arguments.
        own: its own tensors.
        nests: its loops, in order.
    """

    parameters: tuple[Any, ...]
    own: tuple[Any, ...]
    nests: tuple[Nest, ...]


def loops_of(function: Any) -> Loops | None:
    """Read the loops of a function; None if it does not consist of loops, or is a kernel.

    Also None if a loop allocates a tensor in each iteration. Each call returns new loop variables.
    """
    is_tir = isinstance(function, tirx.PrimFunc) and isinstance(function.body, s_tir.SBlockRealize)
    if not is_tir or IS_KERNEL in function.attrs:
        return None
    mod = tvm.IRModule({"loops": s_tir.renew_defs(function).with_attr("global_symbol", "loops")})
    lowered = _LOOPS(mod)["loops"]
    body = lowered.body
    views, own, nests = {}, [], []
    for statement in body.seq if isinstance(body, tirx.SeqStmt) else [body]:
        if isinstance(statement, tirx.DeclBuffer):
            views[_owner(statement.data)] = statement.buffer
        elif isinstance(statement, tirx.AllocBuffer):
            own.append(statement.buffer)
        elif (nest := _nest(statement)) is not None:
            nests.append(nest)
        else:
            return None
    parameters = tuple(views.get(each, each) for each in lowered.params)
    is_flat = all(map(_is_flat, (*parameters, *own)))
    return Loops(parameters, tuple(own), tuple(nests)) if nests and is_flat else None


def _is_flat(tensor: Any) -> bool:
    # An open size may be a parameter of the function, which has no shape.
    shape = list(getattr(tensor, "shape", ()))
    return len(shape) == 1 and isinstance(shape[0], tirx.IntImm)


def _owner(data: Any) -> Any:
    while isinstance(data, tvm.ir.Call):
        data = data.args[0]
    return data


def _nest(statement: Any) -> Nest | None:
    loops: list[tirx.For] = []
    while _is_plain(statement):
        loops.append(statement)
        statement = statement.body
    if not loops or _allocates(statement):
        return None
    return Nest(tuple(loops), tuple(int(loop.extent) for loop in loops), statement)


def _allocates(statement: Any) -> bool:
    return bool(nodes_in(statement, tirx.AllocBuffer, tirx.DeclBuffer))


def _is_plain(statement: Any) -> bool:
    return (
        isinstance(statement, tirx.For)
        and statement.kind == tirx.ForKind.SERIAL
        and isinstance(statement.extent, tirx.IntImm)
        and isinstance(statement.min, tirx.IntImm)
        and statement.min.value == 0
        and not statement.annotations
    )


def common_counts(members: Sequence[Loops]) -> list[int]:
    """Return the numbers of rows that all loops of the functions can have, the largest first."""
    found = [set(nest.counts) for member in members for nest in member.nests]
    return sorted(set.intersection(*found) - {1}, reverse=True)


def stay_in_rows(members: Sequence[Loops], kept: Collection[Any], rows: int) -> bool:
    """Tell whether each iteration of the loops uses only its own row of some tensors.

    Args:
        members: the loops of the functions.
        kept: the tensors.
        rows: rows of each tensor, and iterations of the outermost loops.
    """
    for nest in (nest for member in members for nest in member.nests):
        analyzer = _analyzer(nest)
        for access in _accesses(nest):
            tensor = _tensor(access)
            if tensor not in kept:
                continue
            size, rest = divmod(size_of(tensor), rows)
            within = _within(nest, access.indices[0], rows, size)
            if rest or within is None:
                return False
            bound = analyzer.const_int_bound(within)
            if bound.min_value < 0 or bound.max_value >= size:
                return False
    return True


def size_of(tensor: Any) -> int:
    """Count the elements of a tensor."""
    return prod(map(int, tensor.shape))


def bytes_of(tensor: Any) -> int:
    """Count the bytes of a tensor."""
    return size_of(tensor) * np.dtype(str(tensor.dtype)).itemsize


def over_rows(nest: Nest, rows: int, place: tuple[Any, Any], tensors: Mapping[Any, Any]) -> Any:
    """Return the statement of a nest for one row.

    Args:
        nest: loops of a function.
        rows: the number of rows.
        place: the number of the first of some rows, and the row's index among these rows.
        tensors: the replacement of each tensor; a smaller replacement holds only these rows.
    """
    depth, (first, number) = nest.counts[rows], place
    row = first + number
    left, values = row, {}
    for loop, extent in reversed(list(zip(nest.loops[:depth], nest.extents[:depth], strict=True))):
        is_first = loop.same_as(nest.loops[0])
        values[loop.loop_var] = left if is_first else tirx.floormod(left, _same(left, extent))
        left = tirx.floordiv(left, _same(left, extent))
    body = nest.body
    for loop in reversed(nest.loops[depth:]):
        body = tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind, body)

    def moved(access: Any) -> tuple[Any, Any]:
        tensor = _tensor(access)
        target, index = tensors[tensor], access.indices[0]
        size, rest = divmod(size_of(tensor), rows)
        within = None if rest else _within(nest, index, rows, size)
        if within is None:
            return target, index
        if size_of(target) < size_of(tensor):
            return target, number * _same(row, size) + within
        return target, row * _same(row, size) + within

    def load(access: Any) -> Any:
        target, index = moved(access)
        return tirx.BufferLoad(target, [index])

    def store(access: Any) -> Any:
        target, index = moved(access)
        return tirx.BufferStore(target, access.value, [index])

    changed = structural_map(body, [(TensorLoad, load), (tirx.BufferStore, store)])
    return structural_map(changed, (tirx.Var, lambda variable: values.get(variable, variable)))


def flat(name: str, tensor: Any, size: int) -> Any:
    """Declare a tensor of one axis, like another one."""
    return decl_buffer((size,), str(tensor.dtype), name, layout=None)


def _same(index: Any, number: int) -> Any:
    return tirx.IntImm(str(index.ty.dtype), number)


def _analyzer(nest: Nest) -> Any:
    """Return an analyzer that knows the ranges of a nest's variables."""
    analyzer = sym.Analyzer()
    for loop in nodes_in(nest.loops[0], tirx.For):
        analyzer.bind(loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
    return analyzer


def _accesses(nest: Nest) -> list[Any]:
    return nodes_in(nest.body, TensorLoad, tirx.BufferStore)


def _tensor(access: Any) -> Any:
    return access.buffer if isinstance(access, tirx.BufferStore) else access.source


def _within(nest: Nest, index: Any, rows: int, size: int) -> Any:
    """Return the offset of an index in its row; None if iterations do not access their own rows."""
    depth = nest.counts[rows]
    variables = [loop.loop_var for loop in nest.loops[:depth]]
    parts = list(sym.detect_linear_equation(index, variables))
    if len(parts) != depth + 1:
        return None
    steps = [size * prod(nest.extents[place + 1 : depth]) for place in range(depth)]
    given = [part.value if isinstance(part, tirx.IntImm) else None for part in parts[:-1]]
    return parts[-1] if given == steps else None
