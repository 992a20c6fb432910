"""Lists of tensors, as TensorFlow has them: FlexTensorListReserve and its kin.

A list is one tensor here, of a first axis for its elements. One that was not set is 0, as in
TensorFlow's kernels/list_kernels.h.
"""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.gather import checked_indices, take_at
from frontends.tflite.converters.registry import flex_converter
from frontends.tflite.flex import FLEX, TensorListOptions
from frontends.tflite.model import DTYPES, Model, Operator
from frontends.tflite.values import ElementsError
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_LIST = f"{FLEX}TensorList"
_RESERVE = f"{_LIST}Reserve"
_MOST = 1 << 26


@flex_converter(_RESERVE)
def convert_reserve(ctx: Context) -> relax.Expr:
    """Return a list of zeros; sizes that are left open are 1, until an element is set."""
    shape = ctx.integers(0, ("int32", "int64"))
    known = () if ctx.tensor(0).shape == () else shape
    return _zeros(ctx, ctx.operator, tuple(size if size >= 0 else 1 for size in known))


def reserved(ctx: Context, position: int, elements: tuple[int, ...]) -> relax.Expr | None:
    """Return an operand that is a list without elements that were set, for elements of a shape.

    None if it is none.
    """
    index = ctx.tensor(position).index
    for operator in ctx.model.operators:
        if operator.code == _RESERVE and index in operator.outputs:
            return ctx.builder.emit(_zeros(ctx, operator, elements))
    return None


def _zeros(ctx: Context, operator: Operator, elements: tuple[int, ...]) -> relax.Expr:
    options = operator.options
    if not isinstance(options, TensorListOptions) or options.dtype not in DTYPES:
        raise UnsupportedError("a list of elements of another type")
    data = ctx.model.tensors[operator.inputs[1]].data
    if data is None or data.size != 1:
        raise UnsupportedError("a list of a length that depends on the data")
    shape = int(data.ravel()[0]), *elements
    if shape[0] < 1 or prod(shape) > _MOST:
        raise UnsupportedError(f"a list of shape {shape}, of 1 to {_MOST} elements in all")
    return R.zeros(shape, options.dtype)


@flex_converter(f"{_LIST}SetItem")
def convert_set_item(ctx: Context) -> relax.Expr:
    """Put an element at a place."""
    item, data = ctx.input(2), _list(ctx)
    count = spec_of(data).shape[0]
    if spec_of(data).dtype != spec_of(item.expr).dtype:
        raise QnnError(f"a {spec_of(item.expr).dtype} in a list of {spec_of(data).dtype}")
    if spec_of(data).shape[1:] != item.shape:
        known = reserved(ctx, 0, item.shape)
        if known is None:
            raise ElementsError(ctx.tensor(0).index, item.shape)
        data = known
    place = _place(ctx, count)
    if ctx.options(TensorListOptions).grows and not ctx.tensor(1).is_constant:
        raise UnsupportedError("a list that grows where a place is behind its end")
    places = relax.const(np.arange(count, dtype=np.int32))
    is_there = reshaped(R.equal(places, place), (count, *[1] * len(item.shape)))
    return R.where(ctx.builder.emit(is_there), reshaped(item.expr, (1, *item.shape)), data)


@flex_converter(f"{_LIST}GetItem")
def convert_get_item(ctx: Context) -> relax.Expr:
    """Return the element at a place."""
    data = _list(ctx)
    return R.take(data, _place(ctx, spec_of(data).shape[0]), 0, "clip")


@flex_converter(f"{_LIST}Gather")
def convert_list_gather(ctx: Context) -> relax.Expr:
    """Return the elements at some places."""
    data = _list(ctx)
    return take_at(data, checked_indices(ctx, 1, spec_of(data).shape[:1]), 0)


@flex_converter(f"{_LIST}FromTensor", f"{_LIST}Stack")
def convert_stack(ctx: Context) -> relax.Expr:
    """Return the tensor that the list is."""
    data, wanted = _list(ctx), ctx.options(TensorListOptions).count
    if wanted not in (-1, spec_of(data).shape[0]):
        raise QnnError(f"{wanted} elements of a list of {spec_of(data).shape[0]}")
    return data


def _list(ctx: Context) -> relax.Expr:
    if not ctx.input(0).shape:
        raise QnnError(f"{ctx.tensor(0).label} is no list")
    return ctx.input(0).expr


def _place(ctx: Context, count: int) -> relax.Expr:
    """Return the place of an element as a scalar; a constant one must be in the list."""
    if ctx.tensor(1).dtype != "int32" or prod(ctx.input(1).shape) != 1:
        raise QnnError(f"its place must be one int32, got {ctx.tensor(1).label}")
    return ctx.builder.emit(reshaped(checked_indices(ctx, 1, (count,)), ()))


def outer_list(ctx: Context, graph: Model, error: ElementsError) -> tuple[int, relax.Expr]:
    """Return a list that an operator gives to its subgraph anew, for elements as they are set.

    Args:
        ctx: of the operator that runs the subgraph.
        graph: the subgraph.
        error: what a conversion of it raised.

    Returns:
        The place among the subgraph's inputs, and the list.

    Raises:
        QnnError: the list comes from elsewhere.
    """
    if error.index not in graph.inputs:
        raise QnnError(str(error)) from error
    place = graph.inputs.index(error.index)
    known = reserved(ctx, place, error.elements)
    if known is None:
        raise ElementsError(ctx.tensor(place).index, error.elements) from error
    return place, known
