"""IF, STABLEHLO_CASE, STABLEHLO_COMPOSITE."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
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
from frontends.tflite.converters.registry import MOVED, OPERATORS, Row
from frontends.tflite.model import Model
from frontends.tflite.options.values import (
    IfOptions,
    StablehloCaseOptions,
    StableHLOCompositeOptions,
    WhileOptions,
)
from frontends.tflite.values import Values
from qnn_ops.errors import QnnError
from qnn_ops.registry import TensorSpec, spec_of

_MOST_BRANCHES = 256


def convert_if(ctx: Context) -> list[relax.Expr]:
    """Run the branch that a constant chooses; else both, and choose their results.

    Of branches that loop only the chosen one is run: the other's loop may have no end.
    """
    options = ctx.options(IfOptions)
    branches = [
        subgraph(ctx, number)
        for number in (options.then_subgraph_index, options.else_subgraph_index)
    ]
    chosen, *arguments = (operand(ctx, i) for i in range(len(ctx.operator.inputs)))
    if isinstance(chosen, np.ndarray):
        return [expr_of(value) for value in run(ctx, branches[0 if chosen.all() else 1], arguments)]
    flag = _single(ctx, chosen, "condition", "bool")
    return _choice(ctx, branches, [flag], arguments)


def convert_case(ctx: Context) -> list[relax.Expr]:
    """Run the branch of a number, which is the last one where there is none of that number.

    Source: stablehlo_case.cc of LiteRT. Otherwise it is as IF.
    """
    numbers = ctx.options(StablehloCaseOptions).branch_subgraph_indices
    if not 1 <= len(numbers) <= _MOST_BRANCHES:
        raise QnnError(f"must have 1 to {_MOST_BRANCHES} branches, got {len(numbers)}")
    branches = [subgraph(ctx, number) for number in numbers]
    chosen, *arguments = (operand(ctx, i) for i in range(len(ctx.operator.inputs)))
    if isinstance(chosen, np.ndarray):
        place = _place(ctx, chosen, len(branches))
        return [expr_of(value) for value in run(ctx, branches[place], arguments)]
    place = _single(ctx, chosen, "number", "int32")
    if len(branches) == 1:
        return [expr_of(value) for value in run(ctx, branches[0], arguments)]
    flags = [
        ctx.builder.emit(R.equal(place, relax.const(number, "int32")))
        for number in range(len(branches) - 1)
    ]
    return _choice(ctx, branches, flags, arguments)


def _place(ctx: Context, number: Array, count: int) -> int:
    """Return the place of a constant number's branch."""
    if number.dtype != np.int32 or number.size != 1:
        raise QnnError(f"its number must be one int32, got {ctx.tensor(0).label}")
    place = int(number.ravel()[0])
    return place if 0 <= place < count else count - 1


def _single(ctx: Context, chosen: relax.Expr, what: str, dtype: str) -> relax.Var:
    """Return what chooses as a scalar.

    Raises:
        QnnError: it is of another type, or not a single one.
    """
    spec = spec_of(chosen)
    if spec.dtype != dtype or np.prod(spec.shape, dtype=int) != 1:
        raise QnnError(f"its {what} must be one {dtype}, got {spec}")
    return ctx.builder.emit(R.reshape(chosen, ()))


def _choice(
    ctx: Context,
    branches: Sequence[Model],
    flags: Sequence[relax.Expr],
    arguments: Sequence[Value],
) -> list[relax.Expr]:
    """Run all branches, or the chosen one if one loops; a flag for each but the last chooses."""
    if any(_loops(branch, set()) for branch in branches):
        return _one_of(ctx, branches, flags, arguments)
    before = dict(ctx.values.variables)
    with ctx.builder.uncertain():
        results = [
            [_emitted(ctx, each) for each in run(ctx, branch, arguments)] for branch in branches
        ]
    if ctx.values.variables != before:
        raise UnsupportedError("a branch that assigns a variable, and a condition of the data")
    _check_alike([[spec_of(each) for each in made] for made in results])
    chosen: list[relax.Expr] = [*results[-1]]
    for flag, made in zip(reversed(flags), reversed(results[:-1]), strict=True):
        pairs = zip(made, map(ctx.builder.emit, chosen), strict=True)
        chosen = [R.where(flag, *pair) for pair in pairs]
    return chosen


def convert_composite(ctx: Context) -> list[relax.Expr]:
    """Run the subgraph, whatever name the file has for what it computes."""
    graph = subgraph(ctx, ctx.options(StableHLOCompositeOptions).decomposition_subgraph_index)
    # Constants, however large, may be weights.
    arguments = [
        ctx.constant(i) if ctx.tensor(i).is_constant else operand(ctx, i)
        for i in range(len(ctx.operator.inputs))
    ]
    return [expr_of(value) for value in run(ctx, graph, arguments)]


def _subgraphs_of(options: object) -> tuple[int, ...]:
    """Return the numbers of the subgraphs that an operator without a loop runs."""
    if isinstance(options, IfOptions):
        return options.then_subgraph_index, options.else_subgraph_index
    if isinstance(options, StablehloCaseOptions):
        return options.branch_subgraph_indices
    if isinstance(options, StableHLOCompositeOptions):
        return (options.decomposition_subgraph_index,)
    return ()


def _loops(graph: Model, seen: set[int]) -> bool:
    """Tell whether a subgraph, or one that it runs, has a loop."""
    for each in graph.operators:
        if isinstance(each.options, WhileOptions):
            return True
        for number in _subgraphs_of(each.options):
            if 1 <= number <= len(graph.subgraphs) and number not in seen:
                seen.add(number)
                if _loops(graph.subgraphs[number - 1], seen):
                    return True
    return False


def _one_of(
    ctx: Context,
    branches: Sequence[Model],
    flags: Sequence[relax.Expr],
    arguments: Sequence[Value],
) -> list[relax.Expr]:
    """Make each branch the body of a loop of one turn, or none.

    All carry the flag, the arguments and the results, which begin as zeros.
    """
    emit = ctx.builder.emit
    fixed = [value if isinstance(value, np.ndarray) else None for value in arguments]
    begin = [value for value in arguments if not isinstance(value, np.ndarray)]
    made: list[list[TensorSpec]] = []

    def ended(inner: Values, results: list[relax.Expr]) -> list[relax.Expr]:
        """Carry on with results, and never again."""
        builder = inner.builder
        results = [builder.emit(each) for each in results]
        made.append([spec_of(each) for each in results])
        parameters = builder.parameters[: len(begin)]
        for name, dtype, shape in (
            *((f"result{i}", spec.dtype, spec.shape) for i, spec in enumerate(made[-1])),
            ("flag", "bool", ()),
        ):
            builder.add_input(builder.fresh(name), shape, dtype)
        return [*parameters, *results, relax.const(np.bool_(False))]

    steps = []
    for branch in branches:
        check_arguments(branch, arguments)
        steps.append(function_of(ctx, branch, begin, fixed, ended))
    _check_alike(made)
    if any(0 in spec.shape for spec in [*made[0], *map(spec_of, begin)]):
        raise UnsupportedError("tensors without elements, and a branch that loops")
    results: list[relax.Expr] = [emit(R.zeros(spec.shape, spec.dtype)) for spec in made[0]]
    last = flags[0]
    for flag in flags[1:]:
        last = emit(R.logical_or(last, flag))
    for step, going in zip(steps, (*flags, emit(R.logical_not(last))), strict=True):
        carried = [*map(emit, begin), *results, going]
        looped = ctx.builder.loop(_flag_of(ctx, carried), step, carried)
        results = [emit(each) for each in looped[len(begin) : -1]]
    return results


def _flag_of(ctx: Context, carried: Sequence[relax.Expr]) -> relax.Function:
    """Return a function that gives the last of its parameters."""
    builder = ctx.values.apart(ctx.operator.index, 1).builder
    for number, each in enumerate(carried):
        spec = spec_of(each)
        builder.add_input(builder.fresh(f"carried{number}"), spec.shape, spec.dtype)
    return builder.function(lambda: [builder.parameters[-1]])


def _check_alike(made: Sequence[Sequence[TensorSpec]]) -> None:
    if any(list(each) != list(made[0]) for each in made):
        raise UnsupportedError("branches whose results have other shapes or types")


def _emitted(ctx: Context, value: Value) -> relax.Var:
    return ctx.builder.emit(expr_of(value))


OPERATORS.update(
    {
        "IF": Row(data=convert_if, micro=MOVED, fills=True),
        "STABLEHLO_CASE": Row(data=convert_case, fills=True),
        "STABLEHLO_COMPOSITE": Row(data=convert_composite, fills=True),
    }
)
