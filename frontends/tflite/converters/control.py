"""WHILE and IF."""

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
from frontends.tflite.options import IfOptions, WhileOptions
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of

_Value: TypeAlias = "Array | relax.Expr"

# What is known at import: counters, shapes and small tables, as what folds takes.
_MOST_KNOWN = 1 << 12
_KNOWN_DTYPES = ("int32", "int64", "bool", "float32")


@data_converter("WHILE")
def convert_while(ctx: Context) -> list[relax.Expr]:
    """Repeat the body as often as the condition, which must follow from constants, says."""
    options = ctx.options(WhileOptions)
    condition = _subgraph(ctx, options.cond_subgraph_index)
    body = _subgraph(ctx, options.body_subgraph_index)
    carried = [_operand(ctx, position) for position in range(len(ctx.operator.inputs))]
    while _goes_on(_run(ctx, condition, carried)):
        carried = _run(ctx, body, carried)
    return [_expr(value) for value in carried]


@data_converter("IF")
def convert_if(ctx: Context) -> list[relax.Expr]:
    """Run the branch that a constant chooses; else both, and choose their results."""
    options = ctx.options(IfOptions)
    branches = [
        _subgraph(ctx, number)
        for number in (options.then_subgraph_index, options.else_subgraph_index)
    ]
    chosen, *arguments = (_operand(ctx, i) for i in range(len(ctx.operator.inputs)))
    if isinstance(chosen, np.ndarray):
        return [_expr(value) for value in _run(ctx, branches[0 if chosen.all() else 1], arguments)]
    if spec_of(chosen).dtype != "bool" or np.prod(spec_of(chosen).shape, dtype=int) != 1:
        raise QnnError(f"its condition must be one bool, got {spec_of(chosen)}")
    before = dict(ctx.values.variables)
    results = [
        [_emitted(ctx, each) for each in _run(ctx, branch, arguments)] for branch in branches
    ]
    if ctx.values.variables != before:
        raise UnsupportedError("a branch that assigns a variable, and a condition of the data")
    if [spec_of(each) for each in results[0]] != [spec_of(each) for each in results[1]]:
        raise UnsupportedError("branches whose results have other shapes or types")
    flag = ctx.builder.emit(R.reshape(chosen, ()))
    return [R.where(flag, *pair) for pair in zip(*results, strict=True)]


def _subgraph(ctx: Context, number: int) -> Model:
    others = ctx.model.subgraphs
    if not 1 <= number <= len(others):
        raise UnsupportedError(f"runs subgraph {number}, there are {len(others)} others")
    return replace(others[number - 1], subgraphs=others)


def _operand(ctx: Context, position: int) -> _Value:
    tensor = ctx.tensor(position)
    if tensor.is_constant and tensor.dtype in _KNOWN_DTYPES:
        data = ctx.constant(position)
        if data.size <= _MOST_KNOWN:
            return data
    return ctx.input(position).expr


def _goes_on(results: Sequence[_Value]) -> bool:
    if len(results) != 1:
        raise QnnError(f"its condition gives {len(results)} tensors, needs one")
    (result,) = results
    if not isinstance(result, np.ndarray):
        raise UnsupportedError("a loop whose number of turns depends on the data")
    return bool(result.all())


def _run(ctx: Context, graph: Model, arguments: Sequence[_Value]) -> list[_Value]:
    """Convert a subgraph's operators once more, and return its results."""
    if len(arguments) != len(graph.inputs):
        raise QnnError(f"its subgraph takes {len(graph.inputs)} tensors, gets {len(arguments)}")
    inner = ctx.values.inner(ctx.operator.index, 1 + len(graph.operators))
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
    results: list[_Value] = []
    for index in graph.outputs:
        data = known.tensors[index].data
        is_known = data is not None and data.size <= _MOST_KNOWN
        is_known = is_known and known.tensors[index].dtype in _KNOWN_DTYPES
        results.append(data if is_known else inner.of(known.tensors[index]))
    return results


def _expr(value: _Value) -> relax.Expr:
    return relax.const(value) if isinstance(value, np.ndarray) else value


def _emitted(ctx: Context, value: _Value) -> relax.Var:
    return ctx.builder.emit(_expr(value))
