"""WHILE, and TensorFlow's lists of tensors: FlexTensorListReserve and similar operators.

A list is one tensor here, whose first axis counts its elements. An element that was not set is 0,
as in TensorFlow's kernels/list_kernels.h.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError, reason_of
from frontends.ranges import of_sizes
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.control import (
    Value,
    check_arguments,
    expr_of,
    function_of,
    operands,
    run,
    subgraph,
)
from frontends.tflite.converters.folding import fold
from frontends.tflite.converters.moves.gather import checked_indices, take_at
from frontends.tflite.model import DTYPES, Model, Operator
from frontends.tflite.operators import converter
from frontends.tflite.options.custom import FLEX
from frontends.tflite.values import ElementsError
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_LIST = f"{FLEX}TensorList"
_RESERVE = f"{_LIST}Reserve"
_MOST = 1 << 26
# The most operators of all iterations. Above this number, a loop builds and runs faster. If a loop
# is not possible, such as for tensors that grow, more are unrolled.
_MOST_UNROLLED = 64
_MOST_COUNTED = 10_000
_OPEN = "a loop whose iterations are many, or depend on the data"


@converter(_RESERVE)
def convert_reserve(ctx: Context) -> relax.Expr:
    """Return a list of zeros; open sizes are 1 until an element is set."""
    shape = ctx.integers(0, ("int32", "int64"))
    known = () if ctx.tensor(0).shape == () else shape
    return _zeros(ctx, ctx.operator, tuple(size if size >= 0 else 1 for size in known))


def reserved(ctx: Context, position: int, elements: tuple[int, ...]) -> relax.Expr | None:
    """Return an operand that is a reserved list, for elements of a shape; None if it is not."""
    index = ctx.tensor(position).index
    for operator in ctx.model.operators:
        if operator.code == _RESERVE and index in operator.outputs:
            return ctx.emit(_zeros(ctx, operator, elements))
    return None


def _zeros(ctx: Context, operator: Operator, elements: tuple[int, ...]) -> relax.Expr:
    dtype = operator.options.dtype
    if dtype not in DTYPES:
        raise UnsupportedError("a list of elements of another type")
    data = ctx.model.tensors[operator.inputs[1]].data
    if data is None or data.size != 1:
        raise UnsupportedError("a list of a length that depends on the data")
    shape = int(data.ravel()[0]), *elements
    if shape[0] < 1 or prod(shape) > _MOST:
        raise UnsupportedError(f"a list of shape {shape}, of 1 to {_MOST} elements in all")
    return R.zeros(shape, dtype)


@converter(f"{_LIST}SetItem")
def convert_set_item(ctx: Context) -> relax.Expr:
    """Put an element at an index."""
    item, data = ctx.input(2), _list(ctx)
    count = spec_of(data).shape[0]
    if spec_of(data).dtype != spec_of(item.expr).dtype:
        raise QnnError(f"a {spec_of(item.expr).dtype} in a list of {spec_of(data).dtype}")
    if spec_of(data).shape[1:] != item.shape:
        known = reserved(ctx, 0, item.shape)
        if known is None:
            raise ElementsError(ctx.tensor(0).index, item.shape)
        data = known
    index = _index(ctx, count)
    if ctx.options.grows and not ctx.tensor(1).is_constant:
        raise UnsupportedError("a list that grows if an index is beyond its end")
    indices = relax.const(np.arange(count, dtype=np.int32))
    is_there = reshaped(R.equal(indices, index), (count, *[1] * len(item.shape)))
    return R.where(ctx.emit(is_there), reshaped(item.expr, (1, *item.shape)), data)


@converter(f"{_LIST}GetItem")
def convert_get_item(ctx: Context) -> relax.Expr:
    """Return the element at an index."""
    data = _list(ctx)
    return R.take(data, _index(ctx, spec_of(data).shape[0]), 0, "clip")


@converter(f"{_LIST}Gather")
def convert_list_gather(ctx: Context) -> relax.Expr:
    """Return the elements at some indices."""
    data = _list(ctx)
    return take_at(data, checked_indices(ctx, 1, spec_of(data).shape[:1]), 0)


@converter(f"{_LIST}FromTensor", f"{_LIST}Stack")
def convert_stack(ctx: Context) -> relax.Expr:
    """Return the list as a tensor."""
    data, wanted = _list(ctx), ctx.options.count
    if wanted not in (-1, spec_of(data).shape[0]):
        raise QnnError(f"{wanted} elements of a list of {spec_of(data).shape[0]}")
    return data


@converter(f"{_LIST}Length", kind="known", of_shape=True)
def convert_length(ctx: Context) -> relax.Expr:
    """Return the number of elements of a list."""
    count = spec_of(_list(ctx)).shape[0]
    return R.astype(of_sizes(ctx.builder, np.array(count, object)), "int32")


def _list(ctx: Context) -> relax.Expr:
    if not ctx.input(0).shape:
        raise QnnError(f"{ctx.tensor(0).label} is no list")
    return ctx.input(0).expr


def _index(ctx: Context, count: int) -> relax.Expr:
    """Return an element's index as a scalar; a constant index must be in the list."""
    ctx.single(1, "int32")
    return ctx.emit(reshaped(checked_indices(ctx, 1, (count,)), ()))


def outer_list(ctx: Context, graph: Model, error: ElementsError) -> tuple[int, relax.Expr]:
    """Return a subgraph's list again, with the shape of the elements that the subgraph sets.

    Args:
        ctx: the operator that runs the subgraph.
        graph: the subgraph.
        error: raised by the subgraph's conversion.

    Returns:
        The list's index among the subgraph's inputs, and the list.

    Raises:
        QnnError: the list comes from elsewhere.
    """
    if error.index not in graph.inputs:
        raise QnnError(str(error)) from error
    index = graph.inputs.index(error.index)
    known = reserved(ctx, index, error.elements)
    if known is None:
        raise ElementsError(ctx.tensor(index).index, error.elements) from error
    return index, known


@converter("WHILE", runs_subgraphs=True, fills=True)
def convert_while(ctx: Context) -> list[relax.Expr]:
    """Repeat the body while the condition holds.

    A few iterations are unrolled if constants determine their number: each then knows its counter.
    Otherwise the two subgraphs become functions, and a loop runs them.
    """
    options = ctx.options
    condition = subgraph(ctx, options.cond_subgraph_index)
    body = subgraph(ctx, options.body_subgraph_index)
    carried = operands(ctx)
    for graph in (condition, body):
        check_arguments(graph, carried)
    if len(condition.outputs) != 1:
        raise QnnError(f"its condition gives {len(condition.outputs)} tensors, needs one")
    if len(body.outputs) != len(carried):
        raise QnnError(f"its body gives {len(body.outputs)} tensors, takes {len(carried)}")
    # A value that no iteration changes stays a constant of any size: it may be weights.
    kept = [body.inputs[i] == body.outputs[i] for i in range(len(carried))]
    for position, is_kept in enumerate(kept):
        if is_kept and ctx.tensor(position).is_constant:
            carried[position] = ctx.constant(position)
    for _ in carried:
        try:
            return _repeated(ctx, condition, body, carried, kept)
        except ElementsError as error:
            index, carried[index] = outer_list(ctx, body, error)
    return _repeated(ctx, condition, body, carried, kept)


def _repeated(
    ctx: Context, condition: Model, body: Model, carried: Sequence[Value], kept: Sequence[bool]
) -> list[relax.Expr]:
    """Repeat the body, unrolled or as a loop."""
    iterations = _iterations(condition, body, carried, _MOST_UNROLLED)
    if iterations is None:
        try:
            return _looped(ctx, condition, body, carried, kept)
        except ElementsError:
            raise
        except QnnError as error:
            reason = reason_of(error)
            if _iterations(condition, body, carried, _MOST_COUNTED) is None:
                # Only one of nested loops reports this.
                raise UnsupportedError(
                    reason if _OPEN in reason else f"{_OPEN}: {reason}"
                ) from error
    while _goes_on(run(ctx, condition, carried)):
        carried = run(ctx, body, carried)
    return [expr_of(value) for value in carried]


def _iterations(condition: Model, body: Model, carried: Sequence[Value], most: int) -> int | None:
    """Count the iterations; None if constants do not determine them, or for too many operators.

    Raises:
        UnsupportedError: the loop has no end.
    """
    known = [value if isinstance(value, np.ndarray) else None for value in carried]
    iterations = 0
    while iterations * len(body.operators) <= most:
        (flag,) = _folded(condition, known)
        if flag is None or not flag.all():
            return None if flag is None else iterations
        before, known = known, _folded(body, known)
        iterations += 1
        if all(map(_is_same, before, known)):
            raise UnsupportedError("a loop without an end")
    return None


def _is_same(before: Array | None, after: Array | None) -> bool:
    if before is None or after is None:
        return before is after
    return np.array_equal(before, after)


def _folded(graph: Model, known: Sequence[Array | None]) -> list[Array | None]:
    """Return a subgraph's results that follow from known arguments, None for others."""
    given = zip(graph.inputs, known, strict=True)
    graph = graph.with_constants({index: value for index, value in given if value is not None})
    for each in graph.operators:
        try:
            graph = fold(graph, each, lambda tensor: tensor.shape) or graph
        except QnnError:
            continue  # the conversion reports the error
    return [graph.tensors[index].data for index in graph.outputs]


def _goes_on(results: Sequence[Value]) -> bool:
    (result,) = results
    if not isinstance(result, np.ndarray):
        raise UnsupportedError(_OPEN)
    return bool(result.all())


def _looped(
    ctx: Context, condition: Model, body: Model, carried: Sequence[Value], kept: Sequence[bool]
) -> list[relax.Expr]:
    """Make a loop; known values that no iteration changes are constants of its functions."""
    fixed = [
        value if is_kept and isinstance(value, np.ndarray) else None
        for value, is_kept in zip(carried, kept, strict=True)
    ]
    begin = [expr_of(value) for value, known in zip(carried, fixed, strict=True) if known is None]
    indices = [index for index, known in enumerate(fixed) if known is None]
    test = function_of(ctx, condition, begin, fixed)
    graph = replace(body, outputs=tuple(body.outputs[index] for index in indices))
    step = function_of(ctx, graph, begin, fixed)
    flag = spec_of(relax.Var("flag", test.ret_ty.fields[0]))
    if flag.dtype != "bool" or prod(flag.shape) != 1:
        raise QnnError(f"its condition must give one bool, gives {flag}")
    specs = [spec_of(each) for each in begin]
    made = [spec_of(relax.Var("made", ty)) for ty in step.ret_ty.fields]
    if specs != made:
        raise UnsupportedError("tensors whose shapes or types change from iteration to iteration")
    if any(0 in spec.shape for spec in specs):
        raise UnsupportedError("tensors without elements")
    results = iter(ctx.builder.loop(test, step, [ctx.emit(each) for each in begin]))
    return [next(results) if known is None else expr_of(known) for known in fixed]
