"""Sizes of tensors that each run decides, with the arithmetic of integers."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import tvm
import tvm_ffi
from tvm import sym, tirx
from tvm_ffi import structural_hash, structural_walk

from qnn_ops.errors import QnnError


@tvm_ffi.register_error
class OpenSizeError(QnnError):
    """The error of code that needs a number, but has an open size."""


def _of_two(compute: Callable[[Any, Any], Any]) -> Callable[[Size, Any], Any]:
    """Return the method that computes with a size and another number."""
    return lambda size, other: _size(compute(size.expr, _expr(other)))


def _ordered(wanted: str, opposite: str) -> Callable[[Size, Any], bool]:
    """Return the method that compares a size with another number."""

    def is_ordered(size: Size, other: Any) -> bool:
        difference = size.expr - _expr(other)
        if _is_proven(difference, wanted):
            return True
        if _is_proven(difference, opposite):
            return False
        raise OpenSizeError(
            f"the size {size} is open, where it must be known whether it is {wanted} {other}"
        )

    return is_ordered


class Size:
    """A size that is an expression of open sizes, each of which is 1 or more.

    It computes as an integer does. Two sizes are equal if that is proven for all values. A
    comparison that depends on the values raises ``OpenSizeError``. So does a conversion to a
    number. TVM accepts a size in place of its expression.
    """

    def __init__(self, expr: Any) -> None:
        """Wrap a TVM expression."""
        self.expr = expr

    def __tvm_ffi_object__(self) -> Any:
        return self.expr

    def __repr__(self) -> str:
        return re.sub(r"T\.int64\((-?\d+)\)", r"\1", str(self.expr))

    def __hash__(self) -> int:
        return hash(structural_hash(self.expr))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | Size) and _is_proven(_expr(other) - self.expr, "==")

    __lt__ = _ordered("<", ">=")
    __le__ = _ordered("<=", ">")
    __gt__ = _ordered(">", "<=")
    __ge__ = _ordered(">=", "<")

    __add__ = __radd__ = _of_two(operator.add)
    __sub__ = _of_two(operator.sub)
    __rsub__ = _of_two(lambda size, other: other - size)
    __mul__ = __rmul__ = _of_two(operator.mul)
    __floordiv__ = _of_two(tirx.floordiv)
    __rfloordiv__ = _of_two(lambda size, other: tirx.floordiv(other, size))
    __mod__ = _of_two(tirx.floormod)
    __rmod__ = _of_two(lambda size, other: tirx.floormod(other, size))

    def __neg__(self) -> Any:
        return _size(0 - self.expr)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __int__(self) -> int:
        raise OpenSizeError(f"the size {self} is open, where a number is needed")

    __index__ = __int__

    def _needed(self, _other: Any) -> int:
        return int(self)

    __truediv__ = __rtruediv__ = _needed

    def variables(self) -> list[Any]:
        """Return the TVM variables of its expression, each once."""
        return variables_of(self.expr)


_ORDERS: dict[str, Callable[[Any], Any]] = {
    "==": lambda value: value.equal(0),
    "<": lambda value: value < 0,
    "<=": lambda value: value <= 0,
    ">": lambda value: value > 0,
    ">=": lambda value: value >= 0,
}


_BOUNDS: ContextVar[Mapping[str, tuple[int, int | None]]] = ContextVar("bounds")
_MOST = 1 << 40


@contextmanager
def within(bounds: Mapping[str, tuple[int, int | None]]) -> Iterator[None]:
    """Tell proofs the least and the largest value of open sizes by name; None for no largest."""
    token = _BOUNDS.set(bounds)
    try:
        yield
    finally:
        _BOUNDS.reset(token)


def is_open(shape: Iterable[Any]) -> bool:
    """Tell whether any size of a shape is open."""
    return any(isinstance(size, Size) for size in shape)


def sizes_of(shape: Sequence[Any]) -> tuple[int, ...]:
    """Return the sizes of a TVM shape: an integer, or a ``Size`` if it is open."""
    return tuple(cast(int, _size(size)) for size in shape)


def as_extent(size: Any) -> Any:
    """Return a size as a number, or as a TVM expression."""
    return size.expr if isinstance(size, Size) else size


def least(size: Any) -> int:
    """Return the value of a size if every open size in it is 1."""
    if not isinstance(size, Size):
        return int(size)
    analyzer = sym.Analyzer()
    for variable in size.variables():
        analyzer.bind(variable, tirx.IntImm("int64", 1))
    return int(analyzer.simplify(size.expr))


def variables_of(expr: Any) -> list[Any]:
    """Return the variables of a TVM expression, each once."""
    found: list[Any] = []

    def see(node: Any) -> None:
        if not any(node.same_as(each) for each in found):
            found.append(node)

    structural_walk(expr, [(tvm.ir.Var, see)])
    return found


def broadcast(*shapes: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape that some shapes broadcast to, as numpy does; -1 is a size like others.

    Raises:
        ValueError: if they do not broadcast, or that depends on open sizes.
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        chosen = next((size for size in sizes if size != 1), 1)
        if any(size not in (1, chosen) for size in sizes):
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        result.append(chosen)
    return tuple(result)


def _expr(value: Any) -> Any:
    return value.expr if isinstance(value, Size) else tirx.IntImm("int64", int(value))


def _size(value: Any) -> Any:
    """Return a simplified expression as a number, if it is one."""
    if isinstance(value, int):
        return value
    if not isinstance(value, tirx.IntImm):
        value = sym.Analyzer().simplify(value)
    return int(value) if isinstance(value, tirx.IntImm) else Size(value)


def _is_proven(difference: Any, order: str) -> bool:
    analyzer = sym.Analyzer()
    known = _BOUNDS.get({})
    for variable in variables_of(difference):
        low, high = known.get(str(variable.name), (1, None))
        analyzer.update(variable, sym.ConstIntBound(low, _MOST if high is None else high))
    value = analyzer.simplify(difference)
    return bool(analyzer.can_prove(_ORDERS[order](value)))
