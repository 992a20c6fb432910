"""Computes the offsets of temporary tensors whose sizes a run decides."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from tvm import sym, tirx

from legalize.call_plan import Plan
from legalize.memory_plan import ALIGNMENT
from legalize.passes.share_storage import share
from qnn_ops.dialect.sizes import OpenSizeError, Size, as_extent

_TYPICAL = 256
"""A typical size, which decides the tensors that share a block."""


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
