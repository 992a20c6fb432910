"""Relay's plain operators, as hand-written quantized networks use them around the quantized ones.

Each makes the Relax operator of the same meaning; operands and results have any dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay.expr import spec, typed


def _binary(name: str, made: Callable[..., relax.Call]) -> Callable[..., relax.Call]:
    def operator(lhs: relax.Expr, rhs: relax.Expr) -> relax.Call:
        spec(f"{name}: lhs", lhs), spec(f"{name}: rhs", rhs)
        return typed(made(lhs, rhs))

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"The {name} of two tensors whose shapes broadcast, element by element."
    return operator


def _reduction(name: str, made: Callable[..., relax.Call]) -> Callable[..., relax.Call]:
    def operator(
        data: relax.Expr, axis: int | Sequence[int] | None = None, keepdims: bool = False
    ) -> relax.Call:
        spec(f"{name}: data", data)
        return typed(made(data, axis, keepdims))

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"The {name} along axes, or of all values."
    return operator


add = _binary("add", relax.op.add)
subtract = _binary("subtract", relax.op.subtract)
multiply = _binary("multiply", relax.op.multiply)
divide = _binary("divide", relax.op.divide)
maximum = _binary("maximum", relax.op.maximum)
minimum = _binary("minimum", relax.op.minimum)

mean = _reduction("mean", relax.op.mean)
sum = _reduction("sum", relax.op.sum)
max = _reduction("max", relax.op.max)
min = _reduction("min", relax.op.min)


def reshape(data: relax.Expr, newshape: int | Sequence[int]) -> relax.Call:
    """Reshape: one size may be -1, and 0 keeps the data's size there."""
    shape = spec("reshape: data", data).shape
    sizes = [newshape] if isinstance(newshape, int) else list(newshape)
    if any(size == 0 and place >= len(shape) for place, size in enumerate(sizes)):
        raise QnnError(f"reshape: {sizes} keeps an axis that data of shape {shape} does not have")
    kept = [shape[place] if size == 0 else int(size) for place, size in enumerate(sizes)]
    return typed(relax.op.reshape(data, kept))


def transpose(data: relax.Expr, axes: Sequence[int] | None = None) -> relax.Call:
    """Return the axes in another order; by default, reversed."""
    spec("transpose: data", data)
    return typed(relax.op.permute_dims(data, None if axes is None else list(axes)))


def squeeze(data: relax.Expr, axis: int | Sequence[int] | None = None) -> relax.Call:
    """Drop axes of size 1: those given, or all."""
    spec("squeeze: data", data)
    return typed(relax.op.squeeze(data, axis))


def expand_dims(data: relax.Expr, axis: int, num_newaxis: int = 1) -> relax.Call:
    """Insert axes of size 1 before ``axis``."""
    spec("expand_dims: data", data)
    return typed(relax.op.expand_dims(data, [axis + place for place in range(num_newaxis)]))


def concatenate(data: Sequence[relax.Expr] | relax.Tuple, axis: int) -> relax.Call:
    """Join tensors along an axis."""
    fields = list(data.fields) if isinstance(data, relax.Tuple) else list(data)
    for field in fields:
        spec("concatenate: data", field)
    return typed(relax.op.concat(fields, axis))


def cast(data: relax.Expr, dtype: str) -> relax.Call:
    """Return the values in another dtype."""
    spec("cast: data", data)
    return typed(relax.op.astype(data, dtype))


def free_vars(expr: relax.Expr) -> list[relax.Var]:
    """Return the variables that an expression depends on, in the order in which it meets them."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    stack = [expr]
    while stack:
        each = stack.pop()
        if each in seen:
            continue
        seen.add(each)
        if isinstance(each, relax.Var):
            found[each] = None
        elif isinstance(each, relax.Call):
            stack.extend(reversed(list(each.args)))
        elif isinstance(each, relax.Tuple):
            stack.extend(reversed(list(each.fields)))
    return list(found)
