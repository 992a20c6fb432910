"""Turns operators with known operands into constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from frontends.tflite.folding.node import DTYPES, MOST, Array, Node, closed, is_open
from frontends.tflite.model import Model, Operator, Tensor
from frontends.tflite.operators import row_of
from qnn_ops.errors import QnnError


def fold(
    model: Model, operator: Operator, shape_of: Callable[[Tensor], tuple[int, ...]]
) -> Model | None:
    """Compute an operator of known operands.

    Args:
        model: with the results of operators before it as constants.
        operator: of it.
        shape_of: returns the shape of a tensor that is not constant.

    Returns:
        The model with the results as constants; None if the operator is to be converted.

    Raises:
        QnnError: if its operands do not fit together.
    """
    row, results = row_of(operator.code), [model.tensors[index] for index in operator.outputs]
    if row.is_dense and len(operator.inputs) == len(results) == 1:
        return _densified(model, operator)
    known: Array | list[Array] | None = _of_shape(model, operator, shape_of)
    if known is None:
        operands = _known(model, operator)
        if row.known is None or operands is None or not results:
            return None
        try:
            with np.errstate(all="ignore"):
                known = row.known(Node(operator, results[0], operands, _dtypes(model, operator)))
        except (IndexError, TypeError, ValueError) as error:
            if is_open(*operands):
                return None  # a run computes it
            raise QnnError(f"its operands do not go together: {error}") from error
    arrays = known if isinstance(known, list) else [known]
    if len(arrays) != len(results):
        return None
    tensors = list(model.tensors)
    for result, found in zip(results, arrays, strict=True):
        array = None if found is None else closed(np.asarray(found), result.dtype)
        if array is None or array.dtype.name not in (result.dtype, "object") or array.size > MOST:
            return None
        tensors[result.index] = replace(result, data=array, shape=array.shape)
    return replace(model, tensors=tuple(tensors))


def _densified(model: Model, operator: Operator) -> Model | None:
    """Return the operand, of any size: the reader has already made it dense."""
    result, data = model.tensors[operator.outputs[0]], model.tensors[operator.inputs[0]].data
    if data is None or data.dtype.name != result.dtype:
        return None
    tensors = list(model.tensors)
    tensors[result.index] = replace(result, data=data, shape=data.shape)
    return replace(model, tensors=tuple(tensors))


def _of_shape(
    model: Model, operator: Operator, shape_of: Callable[[Tensor], tuple[int, ...]]
) -> Array | None:
    """Compute an operator that depends only on its operand's shape."""
    rule = row_of(operator.code).of_shape
    if rule is None or len(operator.inputs) != 1:
        return None
    tensor = model.tensors[operator.inputs[0]]
    result: Array | None = rule(operator, tensor.shape if tensor.is_constant else shape_of(tensor))
    return result


def _dtypes(model: Model, operator: Operator) -> tuple[str, ...]:
    return tuple(model.tensors[index].dtype for index in operator.inputs)


def _known(model: Model, operator: Operator) -> tuple[Array, ...] | None:
    operands = []
    for index in operator.inputs:
        tensor = model.tensors[index]
        if index < 0 or not tensor.is_constant or tensor.dtype not in DTYPES:
            return None
        data = np.zeros(tensor.shape, tensor.dtype) if tensor.data is None else tensor.data
        if data.size > MOST:
            return None
        operands.append(data)
    return tuple(operands) or None
