"""What runs subgraphs: in the function under way, or as functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.tflite.converters.context import Array, Context
from frontends.tflite.model import HANDLE, Model
from frontends.tflite.rows import with_rows_put
from frontends.tflite.values import Values
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

Value: TypeAlias = "Array | relax.Expr"

# What is known at import: counters, shapes and small tables, as what folds takes.
_MOST_KNOWN = 1 << 12
_KNOWN_DTYPES = ("int32", "int64", "bool", "float32")
_WITHIN = "its subgraph has"


def subgraph(ctx: Context, number: int) -> Model:
    """Return the subgraph of a number.

    Raises:
        UnsupportedError: there is none.
    """
    others = ctx.model.subgraphs
    if not 1 <= number <= len(others):
        raise UnsupportedError(f"runs subgraph {number}, there are {len(others)} others")
    graph = with_rows_put(others[number - 1])
    return replace(graph, subgraphs=others, semantics=ctx.model.semantics)


def operand(ctx: Context, position: int) -> Value:
    """Return an operand of an operator that runs subgraphs; as an array where it is known."""
    tensor = ctx.tensor(position)
    if tensor.is_constant and tensor.dtype in _KNOWN_DTYPES:
        data = ctx.constant(position)
        if data.size <= _MOST_KNOWN:
            return data
    return ctx.input(position).expr


def run(
    ctx: Context, graph: Model, arguments: Sequence[Value], inner: Values | None = None
) -> list[Value]:
    """Convert a subgraph's operators once more, and return its results.

    Args:
        ctx: of the operator that runs it.
        graph: the subgraph.
        arguments: what it gets.
        inner: what maps its tensors; as a rule they are values of the same function.

    Raises:
        QnnError: it takes other tensors, or has an operator that cannot be converted.
    """
    check_arguments(graph, arguments)
    inner = inner or ctx.values.inner(ctx.operator.index, 1 + len(graph.operators))
    tensors = list(graph.tensors)
    for index, value in zip(graph.inputs, arguments, strict=True):
        if isinstance(value, np.ndarray):
            tensors[index] = replace(tensors[index], data=value, shape=value.shape)
        else:
            inner.give(tensors[index], value)
    try:
        known = ctx.values.convert(replace(graph, tensors=tuple(tensors)), inner)
    except UnsupportedOperatorError as error:
        _, code, reason, _ = error.operators[0]
        reason = reason if reason.startswith(_WITHIN) else f"{_WITHIN} {code}: {reason}"
        raise UnsupportedError(reason) from error
    results: list[Value] = []
    for index in graph.outputs:
        data = known.tensors[index].data
        is_known = data is not None and data.size <= _MOST_KNOWN
        is_known = is_known and known.tensors[index].dtype in _KNOWN_DTYPES
        results.append(data if is_known else inner.of(known.tensors[index]))
    return results


def check_arguments(graph: Model, arguments: Sequence[object]) -> None:
    """Raise unless a subgraph takes as many tensors as it gets."""
    if len(arguments) != len(graph.inputs):
        raise QnnError(f"its subgraph takes {len(graph.inputs)} tensors, gets {len(arguments)}")
    for index in (*graph.inputs, *graph.outputs):
        if graph.tensors[index].packed:
            tensor = graph.tensors[index]
            raise UnsupportedError(f"its subgraph takes or gives {tensor.label} of {tensor.packed}")


def expr_of(value: Value) -> relax.Expr:
    """Return a value as an expression."""
    # Without its name, TVM makes int32 of int64.
    return relax.const(value, value.dtype.name) if isinstance(value, np.ndarray) else value


Finish = Callable[[Values, list[relax.Expr]], list[relax.Expr]]
"""Makes the results of a function of those of its subgraph."""


def function_of(
    ctx: Context,
    graph: Model,
    begin: Sequence[relax.Expr],
    fixed: Sequence[Array | None],
    finish: Finish = lambda inner, results: results,
) -> relax.Function:
    """Convert a subgraph to a function of what is not fixed.

    Args:
        ctx: of the operator that runs it.
        graph: the subgraph.
        begin: values like those that the function is given, in the order of its parameters.
        fixed: of each argument of the subgraph, what is known; None where it is a parameter.
        finish: is told the values and the results; it may add parameters after the others.

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
