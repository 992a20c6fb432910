"""Operators of tensors whose sizes each run decides, where TVM's importer wants numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call
from frontends.onnx.graph.open_shapes import length_of, reshaped, slices_of
from frontends.onnx.read.constants import array_of
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import as_extent, broadcast

Array = np.ndarray[Any, Any]
Values = Sequence["Array | None"]
OpenRule = Callable[[Call, Values], Any]
"""``rule(call, values)``; the values of operands are None where they are not known."""

OPEN: dict[str, OpenRule] = {}
"""By the name of the operator."""


def of_sizes(builder: relax.BlockBuilder, array: Array) -> relax.Expr:
    """Return a tensor of numbers and open sizes, which a run computes."""
    sizes = [tirx.convert(as_extent(each)) for each in array.flat]
    shape = relax.ShapeExpr([each.astype("int64") for each in sizes])
    made = builder.emit(R.shape_to_tensor(shape))
    return made if array.ndim == 1 else builder.emit(R.reshape(made, array.shape))


def _rule(name: str) -> Callable[[OpenRule], OpenRule]:
    def decorate(rule: OpenRule) -> OpenRule:
        OPEN[name] = rule
        return rule

    return decorate


def _numbers(values: Values, index: int) -> list[Any]:
    if index >= len(values) or (found := values[index]) is None:
        raise UnsupportedError("its numbers must be constant")
    return [each if found.dtype == object and not _is_int(each) else int(each) for each in found]


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer)


@_rule("Reshape")
def _reshape(call: Call, values: Values) -> Any:
    (data,) = call.operands(1)
    keeps_zero = bool(call.attributes.get("allowzero", 0))
    shape = reshaped(spec_of(data).shape, _numbers(values, 1), keeps_zero=keeps_zero)
    return R.reshape(data, list(map(as_extent, shape)))


@_rule("Flatten")
def _flatten(call: Call, _: Values) -> Any:
    (data,) = call.operands(1)
    shape, axis = spec_of(data).shape, int(call.attributes.get("axis", 1))
    return R.reshape(data, [as_extent(prod(shape[:axis])), as_extent(prod(shape[axis:]))])


@_rule("Expand")
def _expand(call: Call, values: Values) -> Any:
    (data,) = call.operands(1)
    shape = broadcast(spec_of(data).shape, _numbers(values, 1))
    return R.broadcast_to(data, list(map(as_extent, shape)))


@_rule("ConstantOfShape")
def _constant_of_shape(call: Call, values: Values) -> Any:
    given = call.attributes.get("value")
    value = np.zeros(1, np.float32) if given is None else array_of(given)
    fill = relax.const(value.reshape(()), str(value.dtype))
    return R.broadcast_to(fill, list(map(as_extent, _numbers(values, 0))))


@_rule("Range")
def _range(call: Call, values: Values) -> Any:
    if any(each is None for each in values):
        raise UnsupportedError("its numbers must be constant")
    numbers = (np.ravel(each)[0] for each in values if each is not None)
    begin, end, step = (int(each) if _is_int(each) else each for each in numbers)
    count = length_of(begin, end, step)
    steps = R.arange(0, as_extent(count), 1, "int64")
    scaled = R.multiply(call.emit(steps), relax.const(step, "int64"))
    first = of_sizes(call.builder, np.array([begin], object))
    return R.add(call.emit(scaled), first)


@_rule("Slice")
def _slice(call: Call, values: Values) -> Any:
    (data,) = call.operands(1)
    shape = spec_of(data).shape
    if any(each is None and call.given[n] is not None for n, each in enumerate(values) if n):
        raise UnsupportedError("its numbers must be constant")
    found = slices_of(shape, values, call.attributes)
    axes = list(found)
    begins, ends, steps = ([found[axis][n] for axis in axes] for n in range(3))
    begins, ends = (list(map(as_extent, each)) for each in (begins, ends))
    return R.strided_slice(data, axes, begins, ends, steps, assume_inbound=True)


@_rule("Tile")
def _tile(call: Call, values: Values) -> Any:
    (data,) = call.operands(1)
    return R.tile(data, [as_extent(each) for each in _numbers(values, 1)])
