"""Operators whose results have stated sizes, which may be open: TVM's importer requires numbers."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.onnx.converters.registry import Call, Converter, converter
from frontends.onnx.graph.open_shapes import RULES, ends_of_range, length_of, sizes_of, slices_of
from frontends.onnx.read.constants import array_of
from frontends.ranges import of_sizes
from qnn_ops.dialect.registry import as_const, spec_of
from qnn_ops.dialect.sizes import as_extent
from qnn_ops.modules import Rules

OPEN = Rules[str, Converter]()
"""By the name of the operator, for tensors of open sizes."""


def _shapes(call: Call) -> list[Any]:
    return [None if each is None else spec_of(each).shape for each in call.given]


def _result_shape(call: Call) -> list[Any]:
    return list(map(as_extent, RULES[call.op](_shapes(call), call.values, call.attributes)))


@converter("Expand")
def _expand(call: Call) -> Any:
    return R.broadcast_to(call.given[0], _result_shape(call))


@OPEN.of("Flatten", "Reshape")
def _reshape(call: Call) -> Any:
    return R.reshape(call.given[0], _result_shape(call))


@OPEN.of("ConstantOfShape")
def _constant_of_shape(call: Call) -> Any:
    given = call.attributes.get("value")
    value = np.zeros(1, np.float32) if given is None else array_of(given)
    fill = as_const(value.reshape(()))
    return R.broadcast_to(fill, _result_shape(call))


@OPEN.of("Range")
def _range(call: Call) -> Any:
    begin, end, step = ends_of_range(call.values)
    steps = R.arange(0, as_extent(length_of(begin, end, step)), 1, "int64")
    scaled = R.multiply(call.emit(steps), relax.const(step, "int64"))
    first = of_sizes(call.builder, np.array([begin], object))
    return R.add(call.emit(scaled), first)


@OPEN.of("Slice")
def _slice(call: Call) -> Any:
    found = slices_of(_shapes(call), call.values, call.attributes)
    columns = ([as_extent(each) for each in column] for column in zip(*found.values(), strict=True))
    return R.strided_slice(call.given[0], [*found], *columns, assume_inbound=True)


@converter("Tile")
def _tile(call: Call) -> Any:
    return R.tile(call.given[0], list(map(as_extent, sizes_of(call.values[1]))))
