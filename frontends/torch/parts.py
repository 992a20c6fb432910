"""Operators that TVM's importer lacks or has otherwise: parts, pads, sums, bounds, extremes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.reader import operator_of, values_of
from qnn_ops import counted_places
from qnn_ops.registry import spec_of


def select(node: Any, importer: Any) -> relax.Var:
    """Take one part of an axis, which goes."""
    data, axis, index = values_of(node)
    tensor, emit = importer.env[data], importer.block_builder.emit
    shape = spec_of(tensor).shape
    place, begin = axis % len(shape), index % shape[axis]
    part = emit(R.strided_slice(tensor, [place], [begin], [begin + 1]))
    result: relax.Var = emit(R.squeeze(part, [place]))
    return result


def narrow(node: Any, importer: Any) -> relax.Var:
    """Take neighbouring parts of an axis."""
    data, axis, start, length = values_of(node)
    tensor = importer.env[data]
    shape = spec_of(tensor).shape
    begin = int(start) + shape[axis] if start < 0 else int(start)
    call = R.strided_slice(tensor, [axis % len(shape)], [begin], [begin + int(length)])
    result: relax.Var = importer.block_builder.emit(call)
    return result


def index(node: Any, importer: Any) -> Any:
    """Take, or put, the parts that tensors of integers name."""
    data, places = values_of(node)[:2]
    shape = spec_of(importer.env[data]).shape
    sizes = {each: shape[axis] for axis, each in enumerate(places) if each is not None}
    return _with_counted(node, importer, sizes, from_end=True)


def along_axis(node: Any, importer: Any) -> Any:
    """Take, or put, what stands at places along an axis; negative ones are not there."""
    data, axis, places = values_of(node)[:3]
    return _with_counted(node, importer, {places: spec_of(importer.env[data]).shape[axis]})


def embedding(node: Any, importer: Any) -> Any:
    """Take rows of a table."""
    table, places = values_of(node)[:2]
    return _with_counted(node, importer, {places: spec_of(importer.env[table]).shape[0]})


def take(node: Any, importer: Any) -> Any:
    """Take elements of the flattened data; -1 is its last element."""
    data, places = values_of(node)
    flat = importer.block_builder.emit(R.reshape(importer.env[data], (-1,)))
    size = math.prod(spec_of(flat).shape)
    counted = counted_places(importer.env[places], size, _source(node), from_end=True)
    indices = importer.block_builder.emit(counted)
    result: relax.Var = importer.block_builder.emit(R.take(flat, indices, 0, mode="clip"))
    return result


ALONG_AXIS = (*("gather.default", "index_select.default", "scatter.src", "scatter.value"),)


def _with_counted(
    node: Any, importer: Any, sizes: Mapping[Any, int], *, from_end: bool = False
) -> Any:
    """Convert by TVM's rule, which takes places unseen; one that is not there ends a run."""
    kept = {each: importer.env[each] for each in sizes}
    source = _source(node)
    for each, size in sizes.items():
        spec = spec_of(kept[each])
        if size and 0 not in spec.shape and spec.dtype != "bool":
            counted = counted_places(kept[each], size, source, from_end)
            importer.env[each] = importer.block_builder.emit(counted)
    result = type(importer).create_convert_map(importer)[operator_of(node)](node)
    importer.env.update(kept)
    return result


def check_index(node: Any) -> None:
    """Check the tensors that name parts.

    Raises:
        UnsupportedError: they are no integers, or name parts of several axes together.
    """
    places = [each for each in node.args[1] if each is not None]
    dtypes = {str(each.meta["val"].dtype) for each in places}
    if not dtypes <= {"torch.int64", "torch.int32"}:
        raise UnsupportedError("the tensors that index it must be integers")


def _source(node: Any) -> str:
    return f"{operator_of(node)} {node.name!r}"
