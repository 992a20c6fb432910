"""WHILE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError, reason_of
from frontends.tflite.converters.context import Array, Context
from frontends.tflite.converters.control import (
    Value,
    check_arguments,
    expr_of,
    function_of,
    operand,
    run,
    subgraph,
)
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.converters.tensor_lists import outer_list
from frontends.tflite.folding import fold
from frontends.tflite.model import Model
from frontends.tflite.options import WhileOptions
from frontends.tflite.values import ElementsError
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

# Operators of all turns. A loop of more is built in less time, and runs in less, too. Where there
# is none, as of tensors that grow, more are unrolled.
_MOST_UNROLLED = 64
_MOST_COUNTED = 10_000
_OPEN = "a loop whose turns are many, or depend on the data"


@data_converter("WHILE")
def convert_while(ctx: Context) -> list[relax.Expr]:
    """Repeat the body while the condition holds.

    Few turns, whose number follows from constants, are unrolled: each then knows its counter. Else
    the two subgraphs become functions, and a loop of them.
    """
    options = ctx.options(WhileOptions)
    condition = subgraph(ctx, options.cond_subgraph_index)
    body = subgraph(ctx, options.body_subgraph_index)
    carried = [operand(ctx, position) for position in range(len(ctx.operator.inputs))]
    for graph in (condition, body):
        check_arguments(graph, carried)
    if len(condition.outputs) != 1:
        raise QnnError(f"its condition gives {len(condition.outputs)} tensors, needs one")
    if len(body.outputs) != len(carried):
        raise QnnError(f"its body gives {len(body.outputs)} tensors, takes {len(carried)}")
    # What no turn changes may stay a constant, however large: it may be weights.
    kept = [body.inputs[i] == body.outputs[i] for i in range(len(carried))]
    for position, is_kept in enumerate(kept):
        if is_kept and ctx.tensor(position).is_constant:
            carried[position] = ctx.constant(position)
    for _ in carried:
        try:
            return _repeated(ctx, condition, body, carried, kept)
        except ElementsError as error:
            place, carried[place] = outer_list(ctx, body, error)
    return _repeated(ctx, condition, body, carried, kept)


def _repeated(
    ctx: Context, condition: Model, body: Model, carried: Sequence[Value], kept: Sequence[bool]
) -> list[relax.Expr]:
    """Repeat the body, unrolled or as a loop."""
    turns = _turns(condition, body, carried, _MOST_UNROLLED)
    if turns is None:
        try:
            return _looped(ctx, condition, body, carried, kept)
        except ElementsError:
            raise
        except QnnError as error:
            reason = reason_of(error)
            if _turns(condition, body, carried, _MOST_COUNTED) is None:
                # Of loops inside one another, one says so.
                raise UnsupportedError(
                    reason if _OPEN in reason else f"{_OPEN}: {reason}"
                ) from error
    while _goes_on(run(ctx, condition, carried)):
        carried = run(ctx, body, carried)
    return [expr_of(value) for value in carried]


def _turns(condition: Model, body: Model, carried: Sequence[Value], most: int) -> int | None:
    """Count the turns; None if they do not follow from constants, or have too many operators.

    Raises:
        UnsupportedError: they have no end.
    """
    known = [value if isinstance(value, np.ndarray) else None for value in carried]
    turns = 0
    while turns * len(body.operators) <= most:
        (flag,) = _folded(condition, known)
        if flag is None or not flag.all():
            return None if flag is None else turns
        before, known = known, _folded(body, known)
        turns += 1
        if all(map(_is_same, before, known)):
            raise UnsupportedError("a loop without an end")
    return None


def _is_same(before: Array | None, after: Array | None) -> bool:
    if before is None or after is None:
        return before is after
    return np.array_equal(before, after)


def _folded(graph: Model, known: Sequence[Array | None]) -> list[Array | None]:
    """Return what of a subgraph's results follows from known arguments."""
    tensors = list(graph.tensors)
    for index, value in zip(graph.inputs, known, strict=True):
        if value is not None:
            tensors[index] = replace(tensors[index], data=value, shape=value.shape)
    graph = replace(graph, tensors=tuple(tensors))
    for each in graph.operators:
        try:
            graph = fold(graph, each, lambda tensor: tensor.shape) or graph
        except QnnError:
            continue  # whoever converts it says so
    return [graph.tensors[index].data for index in graph.outputs]


def _goes_on(results: Sequence[Value]) -> bool:
    (result,) = results
    if not isinstance(result, np.ndarray):
        raise UnsupportedError(_OPEN)
    return bool(result.all())


def _looped(
    ctx: Context,
    condition: Model,
    body: Model,
    carried: Sequence[Value],
    kept: Sequence[bool],
) -> list[relax.Expr]:
    """Make a loop; what is known and no turn changes is a constant of its functions."""
    fixed = [
        value if is_kept and isinstance(value, np.ndarray) else None
        for value, is_kept in zip(carried, kept, strict=True)
    ]
    begin = [expr_of(value) for value, known in zip(carried, fixed, strict=True) if known is None]
    places = [place for place, known in enumerate(fixed) if known is None]
    test = function_of(ctx, condition, begin, fixed)
    graph = replace(body, outputs=tuple(body.outputs[place] for place in places))
    step = function_of(ctx, graph, begin, fixed)
    flag = spec_of(relax.Var("flag", test.ret_ty.fields[0]))
    if flag.dtype != "bool" or prod(flag.shape) != 1:
        raise QnnError(f"its condition must give one bool, gives {flag}")
    specs = [spec_of(each) for each in begin]
    made = [spec_of(relax.Var("made", ty)) for ty in step.ret_ty.fields]
    if specs != made:
        raise UnsupportedError("tensors whose shapes or types change from turn to turn")
    if any(0 in spec.shape for spec in specs):
        raise UnsupportedError("tensors without elements")
    results = iter(ctx.builder.loop(test, step, [ctx.builder.emit(each) for each in begin]))
    return [next(results) if known is None else expr_of(known) for known in fixed]
