"""IF, STABLEHLO_CASE, STABLEHLO_COMPOSITE, variables, and the conversion of subgraphs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.folding import is_known
from frontends.tflite.converters.rows import with_rows_put
from frontends.tflite.model import HANDLE, Model, Operator, handles_of, variable_of
from frontends.tflite.operators import MOVED, converter
from frontends.tflite.values import Values
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import TensorSpec, spec_of
from qnn_ops.errors import QnnError

Value: TypeAlias = "Array | relax.Expr"

_WITHIN = "its subgraph has"
_MOST_BRANCHES = 256


def subgraph(ctx: Context, number: int) -> Model:
    """Return the subgraph with this number.

    Raises:
        UnsupportedError: there is none.
    """
    others = ctx.model.subgraphs
    if not 1 <= number <= len(others):
        raise UnsupportedError(f"runs subgraph {number}, there are {len(others)} others")
    graph = with_rows_put(others[number - 1])
    return replace(graph, subgraphs=others, semantics=ctx.model.semantics)


def operands(ctx: Context) -> list[Value]:
    """Return the operands of an operator that runs subgraphs; known values are arrays."""
    tensors = [ctx.tensor(position) for position in range(len(ctx.operator.inputs))]
    return [each.array if is_known(each) else ctx.operand(each).expr for each in tensors]


def run(
    ctx: Context, graph: Model, arguments: Sequence[Value], inner: Values | None = None
) -> list[Value]:
    """Convert a subgraph's operators once more, and return its results.

    Args:
        ctx: of the operator that runs it.
        graph: the subgraph.
        arguments: its inputs.
        inner: maps its tensors; by default they are values of the same function.

    Raises:
        QnnError: it takes other tensors, or has an operator that cannot be converted.
    """
    check_arguments(graph, arguments)
    inner = inner or ctx.values.inner(ctx.operator.index, 1 + len(graph.operators))
    arrays = dict[int, Array]()
    for index, value in zip(graph.inputs, arguments, strict=True):
        if isinstance(value, np.ndarray):
            arrays[index] = value
        else:
            inner.give(graph.tensors[index], value)
    try:
        known = ctx.values.convert(graph.with_constants(arrays), inner)
    except UnsupportedOperatorError as error:
        _, code, reason, _ = error.operators[0]
        reason = reason if reason.startswith(_WITHIN) else f"{_WITHIN} {code}: {reason}"
        raise UnsupportedError(reason) from error
    results: list[Value] = []
    for index in graph.outputs:
        result = known.tensors[index]
        is_array = result.data is not None and is_known(result)
        results.append(result.array if is_array else inner.of(result))
    return results


def run_exprs(ctx: Context, graph: Model, arguments: Sequence[Value]) -> list[relax.Expr]:
    """Return the results of ``run`` as expressions."""
    return [expr_of(value) for value in run(ctx, graph, arguments)]


def check_arguments(graph: Model, arguments: Sequence[object]) -> None:
    """Raise unless a subgraph takes as many tensors as it gets."""
    if len(arguments) != len(graph.inputs):
        raise QnnError(f"its subgraph takes {len(graph.inputs)} tensors, gets {len(arguments)}")
    for tensor in (graph.tensors[index] for index in (*graph.inputs, *graph.outputs)):
        if tensor.packed:
            raise UnsupportedError(f"its subgraph takes or gives {tensor.label} of {tensor.packed}")


def expr_of(value: Value) -> relax.Expr:
    """Return a value as an expression."""
    # Without the dtype's name, TVM turns int64 into int32.
    return relax.const(value, value.dtype.name) if isinstance(value, np.ndarray) else value


Finish = Callable[[Values, list[relax.Expr]], list[relax.Expr]]
"""Makes a function's results from its subgraph's results."""


def function_of(
    ctx: Context,
    graph: Model,
    begin: Sequence[relax.Expr],
    fixed: Sequence[Array | None],
    finish: Finish = lambda inner, results: results,
) -> relax.Function:
    """Convert a subgraph to a function of the arguments that are not fixed.

    Args:
        ctx: of the operator that runs it.
        graph: the subgraph.
        begin: the first values of the function's parameters.
        fixed: the known value of each argument of the subgraph; None for a parameter.
        finish: makes the function's results; it may add parameters after the others.

    Raises:
        QnnError: as ``run``.
    """
    if any(tensor.dtype == HANDLE for tensor in graph.tensors):
        raise UnsupportedError("variables in a subgraph that is repeated")
    inner = ctx.values.apart(ctx.operator.index, 1 + len(graph.operators))
    arguments: list[Value] = []
    changing = iter(begin)
    for index, known in zip(graph.inputs, fixed, strict=True):
        if known is None:
            spec = spec_of(next(changing))
            name = inner.builder.fresh(graph.tensors[index].name, f"tensor_{index}")
            arguments.append(inner.builder.add_input(name, spec.shape, spec.dtype))
        else:
            arguments.append(known)

    def convert() -> list[relax.Expr]:
        return finish(inner, [expr_of(value) for value in run(ctx, graph, arguments, inner)])

    return inner.builder.function(convert)


@converter("IF", micro=MOVED, runs_subgraphs=True, fills=True)
def convert_if(ctx: Context) -> list[relax.Expr]:
    """Run the branch that a constant chooses; otherwise run both, and choose between their results.

    If a branch loops, the model runs only the chosen branch: the other's loop may never end.
    """
    branches = [subgraph(ctx, number) for number in _subgraphs_of(ctx.operator)]
    chosen, *arguments = operands(ctx)
    if isinstance(chosen, np.ndarray):
        return run_exprs(ctx, branches[0 if chosen.all() else 1], arguments)
    return _choice(ctx, branches, [ctx.emit(ctx.single(0, "bool"))], arguments)


@converter("STABLEHLO_CASE", runs_subgraphs=True, fills=True)
def convert_case(ctx: Context) -> list[relax.Expr]:
    """Run the branch with the given number, or the last branch if no branch has it.

    The rest is as in IF. Source: stablehlo_case.cc of LiteRT.
    """
    numbers = ctx.options.branch_subgraph_indices
    if not 1 <= len(numbers) <= _MOST_BRANCHES:
        raise QnnError(f"must have 1 to {_MOST_BRANCHES} branches, got {len(numbers)}")
    branches = [subgraph(ctx, number) for number in numbers]
    chosen, *arguments = operands(ctx)
    if isinstance(chosen, np.ndarray):
        return run_exprs(ctx, branches[_index(ctx, chosen, len(branches))], arguments)
    index = ctx.emit(ctx.single(0, "int32"))
    if len(branches) == 1:
        return run_exprs(ctx, branches[0], arguments)
    others = range(len(branches) - 1)
    flags = [ctx.emit(R.equal(index, relax.const(number, "int32"))) for number in others]
    return _choice(ctx, branches, flags, arguments)


def _index(ctx: Context, number: Array, count: int) -> int:
    """Return the index of the branch that a constant number chooses."""
    if number.dtype != np.int32 or number.size != 1:
        raise QnnError(f"its number must be one int32, got {ctx.tensor(0).label}")
    index = int(number.ravel()[0])
    return index if 0 <= index < count else count - 1


def _choice(
    ctx: Context, branches: Sequence[Model], flags: Sequence[relax.Expr], arguments: Sequence[Value]
) -> list[relax.Expr]:
    """Run all branches, or only the chosen one if any branch loops; the last branch has no flag."""
    if any(_loops(branch, set()) for branch in branches):
        return _one_of(ctx, branches, flags, arguments)
    before = dict(ctx.values.variables)
    with ctx.builder.uncertain():
        results = [[*map(ctx.emit, run_exprs(ctx, each, arguments))] for each in branches]
    if ctx.values.variables != before:
        raise UnsupportedError("a branch that assigns a variable, and a condition of the data")
    _check_alike([[spec_of(each) for each in made] for made in results])
    chosen: list[relax.Expr] = [*results[-1]]
    for flag, made in zip(reversed(flags), reversed(results[:-1]), strict=True):
        pairs = zip(made, map(ctx.emit, chosen), strict=True)
        chosen = [R.where(flag, *pair) for pair in pairs]
    return chosen


@converter("STABLEHLO_COMPOSITE", runs_subgraphs=True, fills=True)
def convert_composite(ctx: Context) -> list[relax.Expr]:
    """Run the subgraph and ignore the name that the file gives its computation."""
    graph = subgraph(ctx, ctx.options.decomposition_subgraph_index)
    tensors = [ctx.tensor(position) for position in range(len(ctx.operator.inputs))]
    # Constants of any size may be weights.
    arguments = [each.array if each.is_constant else ctx.operand(each).expr for each in tensors]
    return run_exprs(ctx, graph, arguments)


def _subgraphs_of(operator: Operator) -> tuple[int, ...]:
    """Return the numbers of the subgraphs that an operator without a loop runs."""
    options = operator.options
    if operator.code == "IF":
        return options.then_subgraph_index, options.else_subgraph_index
    if operator.code == "STABLEHLO_CASE":
        return tuple(options.branch_subgraph_indices)
    if operator.code == "STABLEHLO_COMPOSITE":
        return (options.decomposition_subgraph_index,)
    return ()


def _loops(graph: Model, seen: set[int]) -> bool:
    """Tell whether a subgraph, or one that it runs, has a loop."""
    for each in graph.operators:
        if each.code == "WHILE":
            return True
        for number in _subgraphs_of(each):
            if 1 <= number <= len(graph.subgraphs) and number not in seen:
                seen.add(number)
                if _loops(graph.subgraphs[number - 1], seen):
                    return True
    return False


def _one_of(
    ctx: Context, branches: Sequence[Model], flags: Sequence[relax.Expr], arguments: Sequence[Value]
) -> list[relax.Expr]:
    """Make each branch the body of a loop that runs once or never.

    All loops carry the flag, the arguments and the results, which start as zeros.
    """
    emit = ctx.emit
    fixed = [value if isinstance(value, np.ndarray) else None for value in arguments]
    begin = [value for value in arguments if not isinstance(value, np.ndarray)]
    made: list[list[TensorSpec]] = []

    def ended(inner: Values, results: list[relax.Expr]) -> list[relax.Expr]:
        """Return the results and a flag that ends the loop."""
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
    """Return a function that returns its last parameter."""
    builder = ctx.values.apart(ctx.operator.index, 1).builder
    for number, each in enumerate(carried):
        spec = spec_of(each)
        builder.add_input(builder.fresh(f"carried{number}"), spec.shape, spec.dtype)
    return builder.function(lambda: [builder.parameters[-1]])


def _check_alike(made: Sequence[Sequence[TensorSpec]]) -> None:
    if any(list(each) != list(made[0]) for each in made):
        raise UnsupportedError("branches whose results have other shapes or types")


@converter("CALL_ONCE", "VAR_HANDLE", micro=MOVED)
def convert_handle(_ctx: Context) -> list[relax.Expr]:
    """Compute nothing: import resolves names and computes first values."""
    return []


@converter("READ_VARIABLE", micro=MOVED)
def convert_read(ctx: Context) -> relax.Expr:
    """Return a variable's value."""
    return ctx.values.variables[_variable(ctx)]


@converter("ASSIGN_VARIABLE", micro=MOVED)
def convert_assignment(ctx: Context) -> list[relax.Expr]:
    """Assign a value to a variable."""
    key, value = _variable(ctx), ctx.input(1)
    known = spec_of(ctx.values.variables[key])
    if spec_of(value.expr) != known:
        raise QnnError(
            f"the variable {key[1]!r} is {known.dtype} of shape {known.shape}, and is assigned "
            f"{value.dtype} of shape {value.shape}"
        )
    ctx.values.variables[key] = value.expr
    return []


def _variable(ctx: Context) -> tuple[str, str]:
    key = variable_of(ctx.operator, handles_of(ctx.model))
    if key not in ctx.values.variables:
        raise QnnError(f"the variable {key[1]!r} is none of the main subgraph's")
    return key
