"""Imports an MXNet model as a Relax module of quantized operators.

A walk over the graph emits its operators, and collects those that cannot be converted.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax

import frontends.mxnet.converters  # noqa: F401 (registers the rules)
from frontends.builder import Imported, ModuleBuilder
from frontends.errors import UnsupportedError, UnsupportedOperatorError, reason_of
from frontends.mxnet.attributes import Attributes
from frontends.mxnet.converters.context import CONVERTERS, Context
from frontends.mxnet.graph import SEMANTICS, Entry, Graph, Node, reachable
from frontends.mxnet.interface import Dtypes, Shapes, input_specs, signature
from frontends.mxnet.params import read_params
from frontends.mxnet.scalars import Array, Value, to_expr
from frontends.mxnet.symbol import read_model
from qnn_ops.dialect.expressions import Expression
from qnn_ops.errors import QnnError
from qnn_ops.serial import serial

Problem = tuple[int, str, str, Sequence[str]]

# The dtypes that MXNet and Relax compute with, in place of the 64-bit dtypes that Python and numpy
# make.
_NARROWER = {"float64": "float32"}

_NO_RULE = "no conversion rule"


def check_operators(graph: Graph) -> None:
    """Raise unless every operator has a rule.

    Raises:
        UnsupportedOperatorError: names all operators that have none.
    """
    problems = [
        (number, node.op, _NO_RULE, _names(graph, node))
        for number, node in _operators(graph)
        if node.op not in CONVERTERS
    ]
    if problems:
        raise UnsupportedOperatorError(problems)


def _operators(graph: Graph) -> Iterable[tuple[int, Node]]:
    return (
        (number, graph.nodes[number])
        for number in reachable(graph)
        if not graph.nodes[number].is_variable
    )


class _Conversion:
    """Emits the operators of one graph into a function.

    Attributes:
        problems: operators that rules refused, so far.
    """

    def __init__(
        self, graph: Graph, values: dict[Entry, Value], builder: ModuleBuilder, semantics: str
    ) -> None:
        """Begin with the values of the graph's variables that an operator reads.

        The conversion adds the values of the operators that it reaches.
        """
        self.graph, self.values, self.builder, self.semantics = graph, values, builder, semantics
        self.problems: list[Problem] = []
        self.exprs: dict[Entry, relax.Expr] = {}
        self.unknown: set[int] = set()

    @np.errstate(all="ignore")
    def run(self) -> list[Value]:
        """Emit the graph, and return the values of its heads; fewer, if there are ``problems``.

        Raises:
            QnnError: an operator's attributes or inputs do not fit; names the operator.
        """
        for number, node in _operators(self.graph):
            if node.op not in CONVERTERS:
                self._refuse(number, _NO_RULE)
                continue
            if any(entry.node in self.unknown for entry in node.inputs):
                self.unknown.add(number)
                continue
            try:
                self._define(number, node, self._apply(node))
            except UnsupportedError as error:
                self._refuse(number, str(error))
            except (ValueError, TypeError, RuntimeError, ArithmeticError) as error:
                where = f"operator {number} {node.op} {node.name!r}"
                raise QnnError(f"{where}: {reason_of(error)}") from error
        return [self._value(head) for head in self.graph.heads if head.node not in self.unknown]

    def _inside(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Emit the graph inside an operator, given its variables in order."""
        entries = [Entry(number) for number, node in enumerate(graph.nodes) if node.is_variable]
        if len(entries) != len(inputs):
            raise QnnError(f"the subgraph has {len(entries)} variables, got {len(inputs)} inputs")
        values = dict(zip(entries, inputs, strict=True))
        inner = _Conversion(graph, values, self.builder, self.semantics)
        results = inner.run()
        if inner.problems:
            reasons = [f"{op} in its subgraph: {why}" for _, op, why, _ in inner.problems]
            raise UnsupportedError("; ".join(reasons))
        return results

    def _refuse(self, number: int, reason: str) -> None:
        node = self.graph.nodes[number]
        self.unknown.add(number)
        self.problems.append((number, node.op, reason, _names(self.graph, node)))

    def _apply(self, node: Node) -> list[Value]:
        def entry(position: int) -> Entry:
            # The rule may not read it: the label of a loss needs no value.
            if not 0 <= position < len(node.inputs):
                raise QnnError(f"input {position} is missing")
            return node.inputs[position]

        ctx = Context(
            node,
            Attributes(node.attrs),
            [self.graph.nodes[each.node].name for each in node.inputs],
            lambda position: self._value(entry(position)),
            lambda position: self._expr(entry(position)),
            self.builder,
            self.semantics,
            self._inside,
        )
        results = CONVERTERS[node.op](ctx)
        return results if isinstance(results, list) else [results]

    def _define(self, number: int, node: Node, results: Sequence[Value]) -> None:
        for output, result in enumerate(results):
            if isinstance(result, Expression):
                # Passes give generated names to other variables, and `profile` goes by the first
                # result's name.
                result = result.expr if output else result.value
            if isinstance(result, np.generic):
                result = np.asarray(result)
            elif not isinstance(result, (np.ndarray, relax.Var)):
                result = self.builder.emit(result, self.builder.fresh(node.name))
            self.values[Entry(number, output)] = result

    def _value(self, entry: Entry) -> Value:
        if entry not in self.values:
            node = self.graph.nodes[entry.node]
            if node.is_variable and entry.output == 0:
                raise QnnError(
                    f"{node.name!r} is no parameter and has no shape: give it one, as in "
                    f"{{{node.name!r}: (1, 3, 224, 224)}} or --shape {node.name}=1,3,224,224"
                )
            raise QnnError(f"{node.op} {node.name!r} has no output {entry.output}")
        return self.values[entry]

    def _expr(self, entry: Entry) -> relax.Expr:
        value = self._value(entry)
        if not isinstance(value, np.ndarray):
            return value
        if entry not in self.exprs:
            node = self.graph.nodes[entry.node]
            value = value.astype(_NARROWER.get(str(value.dtype), value.dtype), copy=False)
            name = self.builder.fresh(node.name)
            self.exprs[entry] = self.builder.add_constant(name, value)
        return self.exprs[entry]


def _names(graph: Graph, node: Node) -> list[str]:
    return [graph.nodes[entry.node].name for entry in node.inputs] + [node.name]


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
        shape: of the inputs by name, or of the only input; needed if the file does not state it.
        dtype: of all inputs, or by name.
        arg_params: parameters by name, as numpy or MXNet arrays; or the path or bytes of a file
            of parameters, which holds the auxiliary ones, too.
        aux_params: auxiliary parameters by name: running means and variances.
        semantics: "mxnet" gives the results of MXNet 1.9.1, bit for bit; "corrected" gives the
            intended results where MXNet deviates from its own intent (docs/numerics_mxnet.md).

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
        convert = partial(_convert, _Conversion(graph, values, builder, semantics))
        return builder.module(convert, partial(signature, graph, inputs))
    except UnsupportedOperatorError:
        raise
    except QnnError:
        # Operators that cannot be imported at all matter more than an error of the first operator.
        check_operators(graph)
        raise


def _convert(conversion: _Conversion) -> list[relax.Expr]:
    """Emit the operators, and tell the builder which variables hold their results."""
    heads = conversion.run()
    if conversion.problems:
        raise UnsupportedOperatorError(conversion.problems)
    for number, node in enumerate(conversion.graph.nodes):
        value = conversion.values.get(Entry(number))
        # Values known when importing take no time, and a forwarded value is another's result.
        if not node.is_variable and isinstance(value, relax.Var):
            conversion.builder.results.setdefault(value.name, number)
    return [*map(to_expr, heads)]


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
