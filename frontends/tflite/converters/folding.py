"""Constant folding: computes operators whose operands are known when a model is imported.

TFLite's converters let the model compute the shape for a Flatten or a resize: SHAPE, parts of it,
products, a new vector. With the shapes of the import these are numbers. Operators that depend on
the data of a run stay. One rule serves the import and the run. At the import numpy computes what
the rule emits. If numpy has no exact function for a part of that, such as a root, a run computes
it.
"""

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax

from frontends.bounds import Allowance
from frontends.known import MOST, KnownBuilder
from frontends.tflite.converters.choice import rule_for
from frontends.tflite.converters.context import Context
from frontends.tflite.model import COMPLEX, DTYPES, Model, Operator, Tensor
from frontends.tflite.operators import OPERATORS, Row, row_of
from frontends.tflite.options.custom import PREFIX
from frontends.tflite.values import Values
from qnn_ops.dialect.sizes import OpenSizeError
from qnn_ops.errors import QnnError

_DTYPES = ("int32", "int64", "bool", "float32")

# TFLM's results of these are LiteRT's for the numbers of shapes, although their rows do not say so.
_OF_SHAPES = (
    *("ABS", "CAST", "CEIL", "CUMSUM", "DIV", "FLOOR", "FLOOR_DIV", "FLOOR_MOD", "MUL", "NEG"),
    *("RANGE", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_PROD", "ROUND", "SCATTER_ND", "SELECT"),
    *("SPARSE_TO_DENSE", "SUM", "TILE", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN"),
    *("UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_SUM", "ZEROS_LIKE"),
)

# ArithmeticError: a number beyond its type.
_ERRORS = (
    *(ValueError, TypeError, RuntimeError, LookupError, ArithmeticError),
    tvm.error.InternalError,
)

ShapeOf = Callable[[Tensor], tuple[int, ...]]
"""Returns the shape of a tensor that is not constant."""


class _KnownValues(Values):
    """The values of small constants; of other tensors, only shapes are known."""

    builder: KnownBuilder

    def __init__(self, shape_of: ShapeOf) -> None:
        super().__init__(KnownBuilder(), Allowance(0))
        self._shape_of = shape_of

    def of(self, tensor: Tensor) -> relax.Expr:
        if is_known(tensor):
            return self.builder.add_constant(tensor.name, tensor.array, tensor.dtype)
        shape = tensor.shape if tensor.is_constant else self._shape_of(tensor)
        parts = (2,) if tensor.dtype == COMPLEX else ()
        dtype = tensor.dtype if tensor.dtype in DTYPES else "float32"
        return relax.Var(tensor.name, relax.TensorType((*shape, *parts), dtype))


def fold(model: Model, operator: Operator, shape_of: ShapeOf) -> Model | None:
    """Compute an operator of known operands.

    Args:
        model: with the results of operators before it as constants.
        operator: of it.
        shape_of: returns the shape of a tensor that is not constant.

    Returns:
        The model with the results as constants; None if the operator is to be converted.

    Raises:
        QnnError: known operands do not fit an operator that only computes values at the import.
    """
    row, results = row_of(operator.code), [model.tensors[index] for index in operator.outputs]
    if row.is_dense and len(operator.inputs) == len(results) == 1:
        return _densified(model, operator)
    operands = [index >= 0 and is_known(model.tensors[index]) for index in operator.inputs]
    are_known = bool(operands) and all(operands)
    if not (row.of_shape or are_known) or (row.known is None and _is_left(model, operator)):
        return None
    if any(each.dtype not in _DTYPES for each in results):
        return None
    values = _KnownValues(shape_of)
    try:
        with np.errstate(all="ignore"):
            rule = row.known or rule_for(model, operator)[0]
            exprs = Context(model, operator, values.builder, values).results(rule)
            arrays = [values.builder.value_of(values.builder.emit(each)) for each in exprs]
    except _ERRORS as error:
        is_final = row.known is not None and are_known and isinstance(error, QnnError)
        if is_final and not isinstance(error, OpenSizeError):
            raise
        return None  # its conversion raises the error again, or a run computes it
    if len(arrays) != len(results) or any(array.size > MOST for array in arrays):
        return None
    pairs = zip(results, arrays, strict=True)
    if any(array.dtype.name not in (result.dtype, "object") for result, array in pairs):
        return None
    return model.with_constants(dict(zip(operator.outputs, arrays, strict=True)))


def _is_left(model: Model, operator: Operator) -> bool:
    """Tell whether an operator is left to its conversion.

    It runs subgraphs, is not LiteRT's own, or has results that TFLM may compute otherwise.
    """
    row, code = row_of(operator.code), operator.code
    may_differ = model.semantics == "tflm" and not row.micro and code not in _OF_SHAPES
    return row.runs_subgraphs or code.startswith(PREFIX) or may_differ


def is_known(tensor: Tensor) -> bool:
    """Tell whether a tensor is a small constant: a counter, a shape or a table."""
    return tensor.is_constant and tensor.dtype in _DTYPES and tensor.array.size <= MOST


def _densified(model: Model, operator: Operator) -> Model | None:
    """Return the operand, of any size: the reader has already made it dense."""
    result, data = model.tensors[operator.outputs[0]], model.tensors[operator.inputs[0]].data
    if data is None or data.dtype.name != result.dtype:
        return None
    return model.with_constants({result.index: data})


OPERATORS["DENSIFY"] = Row(is_dense=True)
