"""IF, and what runs subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.tflite.converters.context import Array, Context
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import Model
from frontends.tflite.options import IfOptions
from frontends.tflite.values import Values
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

Value: TypeAlias = "Array | relax.Expr"

# What is known at import: counters, shapes and small tables, as what folds takes.
_MOST_KNOWN = 1 << 12
_KNOWN_DTYPES = ("int32", "int64", "bool", "float32")


@data_converter("IF")
def convert_if(ctx: Context) -> list[relax.Expr]:
    """Run the branch that a constant chooses; else both, and choose their results."""
    options = ctx.options(IfOptions)
    branches = [
        subgraph(ctx, number)
        for number in (options.then_subgraph_index, options.else_subgraph_index)
    ]
    chosen, *arguments = (operand(ctx, i) for i in range(len(ctx.operator.inputs)))
    if isinstance(chosen, np.ndarray):
        return [expr_of(value) for value in run(ctx, branches[0 if chosen.all() else 1], arguments)]
    if spec_of(chosen).dtype != "bool" or np.prod(spec_of(chosen).shape, dtype=int) != 1:
        raise QnnError(f"its condition must be one bool, got {spec_of(chosen)}")
    before = dict(ctx.values.variables)
    results = [[_emitted(ctx, each) for each in run(ctx, branch, arguments)] for branch in branches]
    if ctx.values.variables != before:
        raise UnsupportedError("a branch that assigns a variable, and a condition of the data")
    if [spec_of(each) for each in results[0]] != [spec_of(each) for each in results[1]]:
        raise UnsupportedError("branches whose results have other shapes or types")
    flag = ctx.builder.emit(R.reshape(chosen, ()))
    return [R.where(flag, *pair) for pair in zip(*results, strict=True)]


def subgraph(ctx: Context, number: int) -> Model:
    """Return the subgraph of a number.

    Raises:
        UnsupportedError: there is none.
    """
    others = ctx.model.subgraphs
    if not 1 <= number <= len(others):
        raise UnsupportedError(f"runs subgraph {number}, there are {len(others)} others")
    return replace(others[number - 1], subgraphs=others)


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
        raise UnsupportedError(f"its subgraph has {code}: {reason}") from error
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


def expr_of(value: Value) -> relax.Expr:
    """Return a value as an expression."""
    # Without its name, TVM makes int32 of int64.
    return relax.const(value, value.dtype.name) if isinstance(value, np.ndarray) else value


def _emitted(ctx: Context, value: Value) -> relax.Var:
    return ctx.builder.emit(expr_of(value))
