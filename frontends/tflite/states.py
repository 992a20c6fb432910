"""The states that a model keeps between runs, and the bounds of the sizes of its tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from frontends.bounds import Allowance, bytes_of, check_grown
from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.tflite.model import (
    DTYPES,
    HANDLE,
    Key,
    Model,
    Operator,
    State,
    Tensor,
    handles_of,
    variable_of,
)
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError

_MOST = 1 << 26


def states_of(model: Model) -> tuple[State, ...]:
    """List a model's states: variable tensors that an operator uses, then variables.

    Raises:
        QnnError: a variable has two shapes or types, or CALL_ONCE runs an invalid subgraph.
        UnsupportedOperatorError: CALL_ONCE does more than give variables their first values.
    """
    used = {index for each in model.operators for index in (*each.inputs, *each.outputs)}
    tensors = [each for each in model.tensors if each.is_variable and each.index in used]
    found = [State(each.index, each, _reset(each)) for each in tensors]
    initials: dict[Key, Array] = {}
    for operator in model.operators:
        if operator.code == "CALL_ONCE":
            initials.update(_first_values(model, operator))
    variables = _variables(model)
    for each in variables.values():
        _check_size(each)
    for key, tensor in variables.items():
        initial = initials.get(key, np.zeros(tensor.shape, tensor.dtype))
        if initial.shape != tensor.shape or initial.dtype != tensor.dtype:
            raise QnnError(
                f"the variable {key[1]!r} is {tensor.dtype} of shape {tensor.shape}, its first "
                f"value {initial.dtype} of shape {initial.shape}"
            )
        found.append(State(key, replace(tensor, name=key[1]), initial))
    return tuple(found)


def _check_size(tensor: Tensor) -> None:
    if tensor.dtype not in DTYPES:
        raise QnnError(f"{tensor.label} keeps a value of type {tensor.dtype}")
    if prod(tensor.shape) > _MOST:
        raise QnnError(f"{tensor.label} keeps {prod(tensor.shape)} elements, {_MOST} at most")


def _reset(tensor: Tensor) -> Array:
    """Return a variable tensor's first value in LiteRT: zeros, for int8 the zero point."""
    _check_size(tensor)
    if tensor.dtype == "int8" and tensor.quantization is not None:
        return np.full(tensor.shape, tensor.quantization.zero_point[0], np.int8)
    return np.zeros(tensor.shape, tensor.dtype)


def _variables(model: Model) -> dict[tuple[str, str], Tensor]:
    """Return a tensor of each variable's shape and dtype."""
    handles = handles_of(model)
    found: dict[tuple[str, str], Tensor] = {}
    for operator in model.operators:
        ends = {"READ_VARIABLE": operator.outputs, "ASSIGN_VARIABLE": operator.inputs[1:]}
        for index in ends.get(operator.code, ())[:1]:
            key, tensor = variable_of(operator, handles), model.tensors[index]
            if tensor.dtype == HANDLE:
                raise QnnError(f"{tensor.label} names a variable")
            known = found.setdefault(key, tensor)
            if (known.shape, known.dtype) != (tensor.shape, tensor.dtype):
                raise QnnError(
                    f"the variable {key[1]!r} is {known.dtype} of shape {known.shape}, and "
                    f"{tensor.dtype} of shape {tensor.shape}"
                )
    return found


def _first_values(model: Model, operator: Operator) -> dict[Key, Array]:
    """Run the subgraph of CALL_ONCE: assignments of constants and of folded operators."""
    number = operator.options.init_subgraph_index
    if not 1 <= number <= len(model.subgraphs):
        raise QnnError(f"CALL_ONCE runs subgraph {number}, there are {len(model.subgraphs)} others")
    graph = model.subgraphs[number - 1]
    handles, found = handles_of(graph), dict[Key, Array]()
    for each in graph.operators:
        if each.code == "ASSIGN_VARIABLE":
            key, tensor = variable_of(each, handles), graph.tensors[each.inputs[-1]]
            if not tensor.is_constant or tensor.dtype in (HANDLE, "string"):
                raise _unsupported(operator, f"assigns {tensor.label}, which is no constant")
            found[key] = tensor.array
        elif each.code != "VAR_HANDLE":
            # Few models compute these values. The others need no converters, and so no TVM.
            from frontends.tflite.converters.folding import fold

            folded = fold(graph, each, lambda tensor: tensor.shape)
            if folded is None:
                raise _unsupported(operator, f"runs {each.code}")
            graph = folded
    return found


def _unsupported(operator: Operator, reason: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError([(operator.index, operator.code, reason, ())])


def growth_of(
    model: Model, shapes: Mapping[int, Sequence[int]], states: Sequence[State]
) -> Allowance:
    """Return the count of a model before anything is computed.

    Args:
        model: the model, with its subgraphs.
        shapes: of its inputs, by tensor number.
        states: its states.

    Raises:
        QnnError: the file states an input that is too large.
    """
    tensors = [tensor for graph in (model, *model.subgraphs) for tensor in graph.tensors]
    # Tensors may share a buffer.
    sizes = {each.data.ctypes.data: each.data.nbytes for each in tensors if each.data is not None}
    held = sum(sizes.values())
    for index, shape in shapes.items():
        tensor = model.tensors[index]
        if tuple(shape) == tensor.shape:
            try:
                check_grown(shape, tensor.dtype, held)
            except UnsupportedError as error:
                raise QnnError(f"{tensor.label}, an input: {error}") from error
    ends = [(shape, model.tensors[index].dtype) for index, shape in shapes.items()]
    kept = [(state.tensor.shape, state.tensor.dtype) for state in states]
    return Allowance(held, sum(bytes_of(*each) for each in (*ends, *kept)))
