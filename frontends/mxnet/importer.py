"""From an MXNet model to a Relax module of quantized operators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax

import frontends.mxnet.converters  # noqa: F401 (registers the rules)
from frontends.builder import Imported, ModuleBuilder
from frontends.errors import UnsupportedOperatorError
from frontends.mxnet.conversion import Conversion, check_operators
from frontends.mxnet.graph import SEMANTICS, Entry, Graph
from frontends.mxnet.interface import Dtypes, Shapes, input_specs, signature
from frontends.mxnet.live import read_model
from frontends.mxnet.params import read_params
from frontends.mxnet.scalars import Value
from qnn_ops.errors import QnnError
from qnn_ops.serial import serial

Array = np.ndarray[Any, Any]


@serial
def from_mxnet(
    symbol: Any,
    shape: Shapes = None,
    dtype: Dtypes = "float32",
    arg_params: Mapping[str, Any] | str | os.PathLike[str] | bytes | None = None,
    aux_params: Mapping[str, Any] | None = None,
    *,
    semantics: str = "mxnet",
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a quantized MXNet model; mxnet itself is not needed.

    Args:
        symbol: the path of a symbol file, its JSON text or bytes, or a result of ``read_symbol``;
            an ``mx.sym.Symbol``; or a Gluon ``HybridBlock`` that has run once, which contains its
            parameters.
        shape: of the inputs by name, or of the only input. Needed if the file does not state it.
        dtype: of all inputs, or by name.
        arg_params: parameters by name, as numpy or MXNet arrays; or the path or bytes of a file
            of parameters, which holds the auxiliary ones, too.
        aux_params: auxiliary parameters by name: running means and variances.
        semantics: "mxnet" is what MXNet 1.9.1 computes, bit for bit; "corrected" is what it
            should have computed where it deviates from its own intent (docs/numerics_mxnet.md).

    Returns:
        The module and its parameters. Its ``main`` takes the model's inputs, then constants,
        which are the values of ``params`` by parameter name; the attribute ``num_input`` says
        how many inputs there are. It returns a tensor, or a tuple of them if there are several.

    Raises:
        MXNetFormatError: a file is damaged.
        UnsupportedOperatorError: the model has operators without a conversion; names them all.
        QnnError: an argument does not fit the model, or an operator its operands.
        OSError: a path cannot be read.
    """
    graph, own = read_model(symbol)
    known = {**own, **parameters(arg_params, aux_params)}
    imported = import_graph(graph, known, shape, dtype, semantics=semantics)
    return imported.mod, imported.params


def import_graph(
    graph: Graph,
    known: Mapping[str, Array],
    shape: Shapes = None,
    dtype: Dtypes = "float32",
    *,
    semantics: str = "mxnet",
    values: dict[Entry, Value] | None = None,
) -> Imported:
    """Import a model that has been read; see ``from_mxnet`` for the rest.

    Args:
        graph: the model.
        known: its parameters.
        shape: the inputs' shape.
        dtype: the inputs' dtype.
        semantics: see ``from_mxnet``.
        values: receives the value of each operator's result, even if the import fails.
    """
    if semantics not in SEMANTICS:
        raise QnnError(f"semantics must be one of {', '.join(SEMANTICS)}, got {semantics!r}")
    values = {} if values is None else values
    builder = ModuleBuilder()
    try:
        inputs = input_specs(graph, known, shape, dtype)
        for number, spec in inputs.items():
            name = builder.fresh(graph.nodes[number].name)
            values[Entry(number)] = builder.add_input(name, spec.shape, spec.dtype)
        for number, node in enumerate(graph.nodes):
            if node.is_variable and node.name in known:
                values[Entry(number)] = known[node.name]
        convert = partial(_convert, graph, Conversion(builder, semantics), values)
        return builder.module(convert, partial(signature, graph, inputs))
    except UnsupportedOperatorError:
        raise
    except QnnError:
        # Operators that cannot be imported at all matter more than an error of the first operator.
        check_operators(graph)
        raise


def _convert(graph: Graph, conversion: Conversion, values: dict[Entry, Value]) -> list[relax.Expr]:
    """Emit the operators, and tell the builder which variables hold their results."""
    heads = conversion.convert(graph, values)
    if conversion.problems:
        raise UnsupportedOperatorError(conversion.problems)
    for number, node in enumerate(graph.nodes):
        value = values.get(Entry(number))
        # Values known when importing take no time, and a forwarded value is another's result.
        if not node.is_variable and isinstance(value, relax.Var):
            conversion.builder.results.setdefault(value.name, number)
    return [_expr(value) for value in heads]


def _expr(value: Value) -> relax.Expr:
    return relax.const(value, str(value.dtype)) if isinstance(value, np.ndarray) else value


def parameters(arg_params: Any, aux_params: Any = None) -> dict[str, Array]:
    """Return all parameters by name, as numpy arrays."""
    if isinstance(arg_params, str | bytes | os.PathLike):
        arguments, states = read_params(arg_params)
        arg_params, aux_params = arguments, {**states, **(aux_params or {})}
    return {**_arrays("arg_params", arg_params), **_arrays("aux_params", aux_params)}


def _arrays(argument: str, params: Any) -> dict[str, Array]:
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise QnnError(f"{argument} are arrays by name, got {type(params).__name__}")
    arrays = {}
    for name, value in params.items():
        # This method is the fastest way to turn MXNet's arrays into numpy's.
        array = value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise QnnError(f"{argument}: {name!r} must be numbers, got {array.dtype}")
        # Some keep the prefixes that names have in a file.
        arrays[str(name).removeprefix("arg:").removeprefix("aux:")] = array
    return arrays
