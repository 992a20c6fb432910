"""Model files as what a profile needs: the module, and what its functions compute for whom."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
from tvm import relax

from frontends.mxnet.graph import Entry
from frontends.mxnet.importer import import_graph
from frontends.mxnet.params import read_params
from frontends.mxnet.symbol import read_symbol
from frontends.mxnet.values import Value
from frontends.tflite.importer import import_graph as import_graph_tflite
from frontends.tflite.model import Model
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from qnn_ops.registry import spec_of
from tvm_qnn.model_files import MXNET, ending
from tvm_qnn.profile.work import operations
from tvm_qnn.profile.work_mxnet import products


@dataclass(frozen=True)
class SourceOperator:
    """An operator of a model file.

    Attributes:
        name: of its first output in the file.
        code: the framework's name of it.
        shape: of its first output.
        operations: its products and additions.
    """

    name: str
    code: str
    shape: tuple[int, ...]
    operations: int


@dataclass(frozen=True)
class Source:
    """A model, imported.

    Attributes:
        mod: the module.
        params: its constants.
        operators: of the file, by number.
        results: numbers of operators by the names of the variables that hold their results.
    """

    mod: tvm.IRModule
    params: dict[str, Any]
    operators: Mapping[int, SourceOperator]
    results: Mapping[str, int]


def read_source(
    model: bytes | str | os.PathLike[str],
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    semantics: str | None = None,
) -> Source:
    """Import a model file; as ``tvm_qnn.profile.profile`` takes it.

    Raises:
        QnnError: it cannot be imported, or ``params`` is missing, or what is for MXNet is given
            for another file.
    """
    if not isinstance(model, bytes) and ending(Path(model)) == MXNET:
        if params is None:
            raise QnnError(f"{os.fspath(model)} needs its file of parameters")
        return _mxnet(model, params, shapes, semantics or "mxnet")
    if params is not None or shapes or semantics is not None:
        raise QnnError(
            "params, shapes and semantics are for MXNet models: a .tflite file has its own"
        )
    return _tflite(read_model(model))


def _tflite(graph: Model) -> Source:
    imported = import_graph_tflite(graph)
    operators = {}
    for operator in graph.operators:
        result = graph.tensors[operator.outputs[0]]
        operators[operator.index] = SourceOperator(
            result.name, operator.code, result.shape, operations(graph, operator)
        )
    return Source(imported.mod, imported.params, operators, imported.results)


def _mxnet(
    symbol: str | os.PathLike[str],
    params: str | os.PathLike[str],
    shapes: Mapping[str, Sequence[int]] | None,
    semantics: str,
) -> Source:
    graph = read_symbol(symbol)
    arguments, states = read_params(params)
    values: dict[Entry, Value] = {}
    imported = import_graph(
        graph, {**arguments, **states}, shapes or None, semantics=semantics, values=values
    )
    operators: dict[int, SourceOperator] = {}
    for number, node in enumerate(graph.nodes):
        value = values.get(Entry(number))
        # What is known when importing takes no time, and what is passed on is another's result.
        if node.is_variable or not isinstance(value, relax.Var):
            continue
        sizes = [_shape(values.get(entry)) for entry in node.inputs[:2]]
        shape = _shape(value)
        work = 2 * products(node.op, sizes[0], sizes[1], shape) if len(sizes) == 2 else 0
        operators[number] = SourceOperator(node.name, node.op, shape, work)
    return Source(imported.mod, imported.params, operators, imported.results)


def _shape(value: Value | None) -> tuple[int, ...]:
    if value is None:
        return ()
    return spec_of(value).shape if isinstance(value, relax.Expr) else tuple(value.shape)
