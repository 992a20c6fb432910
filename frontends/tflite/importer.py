"""Imports a TFLite model as a Relax module of quantized operators."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import tvm
from tvm import relax
from tvm.relax import op as R

import frontends.tflite.converters  # noqa: F401 (registers the rules)
from frontends.builder import Imported, ModuleBuilder
from frontends.errors import UnsupportedError, UnsupportedOperatorError, reason_of
from frontends.formats import Shapes
from frontends.tflite import notes
from frontends.tflite.converters.choice import checked_rule
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.folding import fold
from frontends.tflite.file_names import SEMANTICS
from frontends.tflite.interface import ends
from frontends.tflite.interface.signatures import warn_of_others
from frontends.tflite.model import COMPLEX, HANDLE, Model, Operator, Tensor
from frontends.tflite.reader import read_model, read_signature
from frontends.tflite.sparsity import BITS
from frontends.tflite.states import growth_of, states_of
from frontends.tflite.values import ElementsError, Values
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.signature import with_bounds
from qnn_ops.dialect.sizes import within
from qnn_ops.errors import QnnError
from qnn_ops.serial import serial


@serial
def from_tflite(
    model: bytes | str | os.PathLike[str] | Model | Any,
    shape_dict: Shapes | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    outputs: str | Sequence[str | int] | None = None,
    semantics: str = SEMANTICS[0],
    signature: str | None = None,
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a TFLite model, usually a quantized one.

    Args:
        model: the file's bytes, its path, a ``tflite.Model``, or a result of ``read_model``.
        shape_dict: shapes of inputs by name, if they differ from the file's. A size is a number, a
            name, or a ``range``. Sizes without a number stay open: each run decides them. So do
            dimensions that the file leaves open. If the file leaves only the batch open, it is 1.
        dtype_dict: dtypes of inputs by name; only a check: each must be the file's.
        outputs: the tensors that the module returns. None: the model's outputs. "all": every tensor
            that an operator computes, in the order of the operators. A list of names or numbers of
            tensors: only these; operators that they do not depend on are left out.
        semantics: "litert" gives the results of LiteRT's reference kernels; "tflm" gives those of
            TFLM (LiteRT for Microcontrollers), which scales the sums of FULLY_CONNECTED with two
            roundings and keeps the scale of RELU6.
        signature: the name of one of the file's signatures, such as "decode". None: the first
            subgraph, as LiteRT runs it.

    Returns:
        The module and its parameters. Its ``main`` takes the model's inputs, then the variables,
        which the model keeps from one run to the next, then the constants of the file, which are
        the values of ``params`` by parameter name; the attribute ``num_input`` says how many inputs
        and variables there are. It returns the outputs, then the variables' new values: a tensor,
        or a tuple of them if there are several. ``qnn_ops.dialect.signature.signature_of`` returns
        the names in the file (with ":number" appended if they are not unique), shapes, dtypes and
        quantization.

    Raises:
        ModelFormatError: the file is damaged.
        UnsupportedOperatorError: the model has operators without a conversion; names them all.
            For "tflm" there are more of them.
        QnnError: an argument does not fit the model, or an operator its tensors.
        OSError: the path cannot be read.

    Warns:
        QuantizedFallbackWarning: once for each quantized operator that has no integer rule and
            is computed in float32.
        SignatureWarning: once, if a file has signatures of several subgraphs, and none is named.
        WrappingSumsWarning: once, if sums of products can leave int32, and wrap as LiteRT's do.
        NotQuantizedWarning: once, if nothing in the model is quantized.
        WrongInLiteRTWarning: once, if LiteRT compares values wrongly.
    """
    if signature is not None:
        if isinstance(model, Model):
            raise QnnError("signature: is chosen from a file, not from what was read of it")
        model = read_signature(model, signature)
    graph = with_semantics(model if isinstance(model, Model) else read_model(model), semantics)
    imported = import_graph(graph, shape_dict, dtype_dict, outputs)
    return imported.mod, imported.params


def with_semantics(graph: Model, semantics: str) -> Model:
    """Return a model whose operators give the integers of these semantics.

    Raises:
        QnnError: there are no such semantics.
    """
    if semantics not in SEMANTICS:
        raise QnnError(f"semantics must be one of {', '.join(SEMANTICS)}, got {semantics!r}")
    return replace(graph, semantics=semantics)


def import_graph(
    graph: Model,
    shape_dict: Shapes | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    outputs: str | Sequence[str | int] | None = None,
) -> Imported:
    """Import a model that has been read, as ``from_tflite`` does."""
    warn_of_others(graph)
    names = ends.tensor_names(graph.tensors)
    shapes, bounds = ends.input_shapes(graph, names, shape_dict or {}, dtype_dict or {})
    kept = ends.kept_outputs(graph, names, outputs)
    if outputs is not None and outputs != "all":
        graph = replace(graph, operators=ends.needed_operators(graph, kept))
    builder, states = ModuleBuilder(), states_of(graph)
    values = Values(builder, growth_of(graph, shapes, states))
    for index, shape in shapes.items():
        values.add_input(graph.tensors[index], shape)
    for state in states:
        values.add_state(state)
    fallbacks: list[str] = []
    wraps: list[tuple[str, str]] = []
    values.convert = partial(_convert_operators, fallbacks, wraps)

    def convert() -> list[relax.Expr]:
        for index in shapes:
            if graph.tensors[index].packed:
                values.define(graph.tensors[index], _lowest_bits(values, graph.tensors[index]))
        known = values.convert(graph, values)
        results = [values.of(known.tensors[index]) for index in kept]
        return [*results, *map(values.of_state, states)]

    described = partial(ends.described_ends, graph, names, shapes, kept, states, bounds)
    try:
        with within(bounds):
            imported = builder.module(convert, described)
    except UnsupportedOperatorError:
        raise
    except QnnError:
        ends.check_stated(graph, names, shape_dict or {})
        raise
    if bounds:
        imported.mod["main"] = with_bounds(imported.mod["main"], bounds)
    for where in dict.fromkeys(fallbacks):
        notes.warn_of_fallback(where)
    if wraps:
        notes.warn_of_wrapping(list(dict.fromkeys(wraps)))
    notes.warn_of_floats(graph)
    notes.warn_of_comparisons(graph)
    return imported


def _lowest_bits(values: Values, tensor: Tensor) -> relax.Expr:
    """Return an input's int8 values, reduced to the bits of the file's type."""
    half = 1 << BITS[tensor.packed] - 1
    sign, mask = relax.const(half, "int8"), relax.const(2 * half - 1, "int8")
    lowest = values.builder.emit(R.bitwise_and(values.of(tensor), mask))
    return R.subtract(values.builder.emit(R.bitwise_xor(lowest, sign)), sign)


Problem = tuple[Operator, Exception, Sequence[str]]


def _convert_operators(
    fallbacks: list[str], wraps: list[tuple[str, str]], model: Model, values: Values
) -> Model:
    """Convert all operators, or raise the errors of all.

    Args:
        fallbacks: gets the operators in float32.
        wraps: gets the operators whose sums can wrap, with the bounds of these sums.
        model: the operators and their tensors.
        values: of the tensors.

    Returns:
        The model with folded operators as constants.
    """
    names, builder = ends.tensor_names(model.tensors), values.builder

    def shape_of(tensor: Tensor) -> tuple[int, ...]:
        shape = spec_of(values.of(tensor)).shape
        return shape[:-1] if tensor.dtype == COMPLEX else shape

    problems: list[Problem] = []
    for operator in model.operators:
        used = [names[index] for index in (*operator.inputs, *operator.outputs) if index >= 0]
        try:
            folded = fold(model, operator, shape_of)
            if folded is not None:
                model = folded
            elif _convert(Context(model, operator, builder, values)):
                fallbacks.append(_where(operator, used))
            if builder.wraps:
                wraps.append((_where(operator, used), builder.wraps[0]))
                builder.wraps.clear()
        except (ValueError, TypeError, RuntimeError, tvm.error.InternalError) as error:
            if isinstance(error, ElementsError) and values.owner is not None:
                raise  # the operator that runs the subgraph gives it another list
            problems.append((operator, error, used))
            # This way the operators after it are checked, too.
            for index in operator.outputs:
                values.assume(model.tensors[index])
    _raise_first(problems)
    return model


def _convert(ctx: Context) -> bool:
    """Emit one operator; tell whether it fell back to float32."""
    rule, is_fallback = checked_rule(ctx)
    results = ctx.results(rule)
    outputs = [ctx.output(position) for position in range(len(ctx.operator.outputs))]
    outputs = [tensor for tensor in outputs if tensor.dtype != HANDLE]
    if len(results) != len(outputs):
        raise QnnError(f"gives {len(results)} tensors, the file lists {len(outputs)}")
    for tensor, expr in zip(outputs, results, strict=True):
        ctx.give(tensor, expr)
    return is_fallback


def _raise_first(problems: Sequence[Problem]) -> None:
    """Raise if there is a problem: name all unsupported operators, or otherwise the first error."""
    unsupported = [
        (operator.index, operator.code, str(error), names)
        for operator, error, names in problems
        if isinstance(error, UnsupportedError)
    ]
    if unsupported:
        raise UnsupportedOperatorError(unsupported)
    for operator, error, names in problems:
        raise QnnError(f"{_where(operator, names)}: {reason_of(error)}") from error


def _where(operator: Operator, names: Sequence[str]) -> str:
    return f"operator {operator.index} {operator.code} ({', '.join(map(repr, names))})"
