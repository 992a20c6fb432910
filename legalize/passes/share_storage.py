"""Give the temporary tensors of a model little memory; each begins where its block begins.

Runs may decide sizes. Then the function computes the offsets of its tensors.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import tvm
from tvm import relax, sym, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.call_plan import Plan, Temporary, plan_of
from legalize.kernels.kernel import WRITES_OVER
from legalize.memory_plan import ALIGNMENT, lives_of
from qnn_ops.dialect.sizes import OpenSizeError, Size, as_extent
from qnn_ops.errors import QnnError

_TYPICAL = 256
"""A typical size, which decides the tensors that share a block."""


@dataclass(frozen=True)
class Storages:
    """Blocks of memory. Each holds several temporary tensors, one after the other.

    Attributes:
        sizes: the size of each block in bytes.
        places: the block of each temporary tensor that a call uses, by their numbers.
    """

    sizes: tuple[int, ...]
    places: Mapping[int, int]


def ShareStorage() -> tvm.transform.Pass:
    """Allocate blocks for the temporary tensors of ``main``, which share them.

    The fewer bytes a model uses, the more of them it finds in the caches. TVM's own plan gives a
    tensor the first free block of a similar size. Here the largest tensors choose first. An output
    overlays an input of its size that its call reads last, if the function's attribute allows it.
    Each tensor begins where its block begins, as kernels require.

    ``main`` may only allocate and call, as after ``CallTIRRewrite``; otherwise it stays. Tensors
    that it returns always stay.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        try:
            plan = plan_of(mod)
        except QnnError:
            return mod
        storages = share(plan, _written_over(mod))
        rebuilt = tvm.IRModule(dict(mod.functions_items()), attrs=mod.attrs)
        rebuilt["main"] = _Allocator(mod, storages).visit_expr(mod["main"])
        return rebuilt

    return tvm.transform.module_pass(rewrite, opt_level=0, name="ShareStorage")


def share(plan: Plan, written_over: Mapping[str, int]) -> Storages:
    """Choose the blocks.

    Args:
        plan: contains the tensors.
        written_over: the argument that the last one may overlay, by the function's name.
    """
    lives = lives_of(plan)
    # The tensors that overlay each other, by the first of them.
    chains = {number: [number] for number in lives}
    for step, call in enumerate(plan.calls):
        pair = _pair(plan, lives, step, written_over.get(call.function or ""))
        if pair is not None:
            source, target = pair
            first = next(first for first, chain in chains.items() if source in chain)
            chains[first] += chains.pop(target)
    sizes: list[int] = []
    taken: list[list[tuple[int, int]]] = []
    places = {}
    for chain in sorted(chains.values(), key=lambda chain: -plan.temporaries[chain[0]]):
        begin, end = lives[chain[0]][0], lives[chain[-1]][1]
        free = (
            block
            for block, others in enumerate(taken)
            if all(last < begin or end < first for first, last in others)
        )
        block = next(free, len(sizes))
        if block == len(sizes):
            sizes.append(-(-plan.temporaries[chain[0]] // ALIGNMENT) * ALIGNMENT)
            taken.append([])
        taken[block].append((begin, end))
        places.update(dict.fromkeys(chain, block))
    return Storages(tuple(sizes), places)


def _pair(
    plan: Plan, lives: Mapping[int, tuple[int, int]], step: int, argument: int | None
) -> tuple[int, int] | None:
    """Return the tensor that a call's output may overlay, and the output; None without them."""
    if argument is None:
        return None
    places = plan.calls[step].arguments
    source, target = places[argument], places[-1]
    if not isinstance(source, Temporary) or not isinstance(target, Temporary):
        return None
    is_last = lives[source.number][1] == step == lives[target.number][0]
    is_alone = places.count(source) == 1
    sizes = {plan.temporaries[source.number], plan.temporaries[target.number]}
    return (source.number, target.number) if is_last and is_alone and len(sizes) == 1 else None


def _written_over(mod: tvm.IRModule) -> dict[str, int]:
    attrs = {variable.name_hint: function.attrs for variable, function in mod.functions_items()}
    return {name: int(each[WRITES_OVER]) for name, each in attrs.items() if WRITES_OVER in each}


@mutator
class _Allocator(PyExprMutator):
    """Replaces allocations, in order."""

    def __init__(self, mod: tvm.IRModule, storages: Storages) -> None:
        super().__init__(mod)
        self._storages = storages
        self._blocks: dict[int, relax.Expr] = {}
        self._count = 0

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if call.op != tvm.ir.Op.get("relax.builtin.alloc_tensor"):
            return call
        number = self._count
        self._count += 1
        block = self._storages.places.get(number)
        if block is None:
            return call
        storage, dtype = self._storage(block), str(call.ty.dtype)
        return relax.op.memory.alloc_tensor(storage, 0, call.args[0], dtype)

    def _storage(self, block: int) -> relax.Expr:
        if block not in self._blocks:
            shape = relax.ShapeExpr([self._storages.sizes[block]])
            storage = relax.op.memory.alloc_storage(shape, 0, "global", "uint8")
            self._blocks[block] = self.builder_.emit(storage, "storage")
        return self._blocks[block]


@dataclass(frozen=True)
class OpenLayout:
    """Offsets in a block of memory, as expressions of open sizes.

    Attributes:
        bindings: statements that compute the offsets of blocks.
        offsets: the offset of each temporary tensor, by number; 0 for tensors that no call uses.
        size: the size of the memory in bytes, which does not use the bindings.
    """

    bindings: tuple[tirx.Stmt, ...]
    offsets: tuple[Any, ...]
    size: Any


def lay_out_open(plan: Plan) -> OpenLayout:
    """Give every temporary tensor memory that no other tensor uses at the same time.

    Tensors share blocks as if each open size were a typical one. A block is as large as its
    largest tensor in the run.
    """
    typical = replace(plan, temporaries=tuple(map(_typical, plan.temporaries)))
    places = share(typical, {}).places
    bindings = []
    end = whole = tirx.IntImm("int64", 0)
    starts: dict[int, Any] = {}
    for block in sorted(set(places.values())):
        starts[block] = end
        sizes = (plan.temporaries[each] for each, own in places.items() if own == block)
        bytes_needed = reduce(tirx.max, _largest(sizes))
        aligned = tirx.floordiv(bytes_needed + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT
        after = tirx.Var("offset", "int64")
        bindings.append(tirx.Bind(after, end + aligned))
        end, whole = after, whole + aligned
    offsets = (starts[places[i]] if i in places else 0 for i in range(len(plan.temporaries)))
    return OpenLayout(tuple(bindings), tuple(offsets), whole)


def _typical(size: Any) -> int:
    if not isinstance(size, Size):
        return int(size)
    analyzer = sym.Analyzer()
    for variable in size.variables():
        analyzer.bind(variable, tirx.IntImm("int64", _TYPICAL))
    return int(analyzer.simplify(size.expr))


def _largest(sizes: Iterable[Any]) -> list[Any]:
    """Return the sizes that may be the largest one in some run."""
    found: list[Any] = []
    for size in sizes:
        others = [each for each in found if not _is_covered(each, size)]
        if not any(_is_covered(size, each) for each in others):
            others.append(size)
        found = others
    return [
        as_extent(size) if isinstance(size, Size) else tirx.IntImm("int64", size) for size in found
    ]


def _is_covered(size: Any, other: Any) -> bool:
    """Tell whether a size is proven to be at most another one."""
    try:
        return bool(size <= other)
    except OpenSizeError:
        return False
