"""Parts of tensors, by indices that may count from the end."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.reader import operator_of, values_of
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
    """Take the parts that tensors of integers name."""
    data, places = node.args
    shape, emit = spec_of(importer.env[data]).shape, importer.block_builder.emit
    kept = {each: importer.env[each] for each in places if each is not None}
    for axis, each in enumerate(places):
        if each is not None:
            tensor = kept[each]
            size = relax.const(shape[axis], spec_of(tensor).dtype)
            is_last = emit(R.less(tensor, relax.const(0, spec_of(tensor).dtype)))
            importer.env[each] = emit(R.where(is_last, emit(R.add(tensor, size)), tensor))
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
