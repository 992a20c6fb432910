"""From an MXNet model to a Relax module of quantized operators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax

import frontends.mxnet.converters  # noqa: F401 (registers the rules)
from frontends.errors import UnsupportedOperatorError
from frontends.mxnet.conversion import Conversion, check_operators
from frontends.mxnet.converters.context import SEMANTICS
from frontends.mxnet.graph import Entry, Graph
from frontends.mxnet.interface import Dtypes, Shapes, input_specs, signature
from frontends.mxnet.live import read_model
from frontends.mxnet.params import read_params
from frontends.mxnet.values import Parameters, Value
from qnn_ops.errors import QnnError
from qnn_ops.signature import with_signature

Array = np.ndarray[Any, Any]


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
        symbol: the path of a symbol file, its JSON text or bytes, or what ``read_symbol`` gave;
            an ``mx.sym.Symbol``; or a Gluon ``HybridBlock`` that has run once, which brings its
            parameters along.
        shape: of the inputs by name, or of the only input. Needed where the file does not say.
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
    known = {**own, **_parameters(arg_params, aux_params)}
    return import_graph(graph, known, shape, dtype, semantics=semantics)


def import_graph(
    graph: Graph,
    known: Mapping[str, Array],
    shape: Shapes = None,
    dtype: Dtypes = "float32",
    *,
    semantics: str = "mxnet",
    values: dict[Entry, Value] | None = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a model that has been read; as ``from_mxnet`` does, which says the rest.

    Args:
        graph: the model.
        known: its parameters.
        shape: of the inputs.
        dtype: of the inputs.
        semantics: as ``from_mxnet`` takes it.
        values: takes what stands for each result of an operator, even if the import fails.
    """
    if semantics not in SEMANTICS:
        raise QnnError(f"semantics must be one of {', '.join(SEMANTICS)}, got {semantics!r}")
    try:
        inputs = input_specs(graph, known, shape, dtype)
    except QnnError:
        check_operators(graph)
        raise
    builder, parameters = relax.BlockBuilder(), Parameters()
    variables: dict[int, Value] = {
        number: parameters.add_input(graph.nodes[number].name, spec.shape, spec.dtype)
        for number, spec in inputs.items()
    }
    for number, node in enumerate(graph.nodes):
        if node.is_variable and node.name in known:
            variables[number] = known[node.name]
    conversion = Conversion(builder, parameters, semantics)
    exprs: list[relax.Expr] = []
    failure: QnnError | None = None
    with builder.function("main"):
        with builder.dataflow():
            # The block wants an end, in whatever state it is: TVM complains on the terminal.
            try:
                heads = conversion.convert(graph, variables, values)
                exprs = [] if conversion.problems else [_expr(value) for value in heads]
            except QnnError as error:
                failure = error
            result = builder.emit_output(exprs[0] if len(exprs) == 1 else relax.Tuple(exprs))
        builder.emit_func_output(result, parameters.variables)
    if failure is not None:
        # What cannot be imported at all matters more than what the first operator lacks.
        check_operators(graph)
        raise failure
    if conversion.problems:
        raise UnsupportedOperatorError(conversion.problems)
    mod = builder.get()
    main = mod["main"].with_attr("num_input", len(inputs))
    mod["main"] = with_signature(main, signature(graph, inputs, exprs))
    return mod, parameters.values


def _expr(value: Value) -> relax.Expr:
    return relax.const(value, str(value.dtype)) if isinstance(value, np.ndarray) else value


def _parameters(arg_params: Any, aux_params: Any) -> dict[str, Array]:
    """All parameters by name, as numpy arrays."""
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
        # MXNet's arrays turn into numpy's by this method, and by nothing that is as fast.
        array = value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise QnnError(f"{argument}: {name!r} must be numbers, got {array.dtype}")
        # Some keep the prefixes that names have in a file.
        arrays[str(name).removeprefix("arg:").removeprefix("aux:")] = array
    return arrays
