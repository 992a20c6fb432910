"""Modules of the dialect by the numpy references of their operators, without compiling."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from qnn_ops.dialect.registry import attrs_of, operator_of


def _strided_slice(call: relax.Call, data: np.ndarray) -> np.ndarray:
    axes, begins, ends = (
        [int(each.value) for each in operand.fields] for operand in call.args[1:4]
    )
    places = [slice(None)] * data.ndim
    for axis, begin, end in zip(axes, begins, ends, strict=True):
        places[axis] = slice(begin, end)
    return data[tuple(places)]


# Those of Relax's own operators that only move data.
_MOVEMENTS: dict[str, Callable[[relax.Call, np.ndarray], Any]] = {
    "relax.permute_dims": lambda call, data: data.transpose(call.attrs.axes),
    "relax.reshape": lambda call, data: data.reshape([int(size) for size in call.ty.shape]),
    "relax.split": lambda call, data: tuple(
        np.split(data, int(call.attrs.indices_or_sections), call.attrs.axis)
    ),
    "relax.strided_slice": _strided_slice,
    "relax.max": lambda call, data: data.max(tuple(call.attrs.axis), keepdims=call.attrs.keepdims),
}


def evaluate(mod: tvm.IRModule, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of ``main``, which calls only the dialect and operators that move data."""
    main = mod["main"]
    values: dict[Any, Any] = dict(zip(main.params, arrays, strict=True))

    def value(expr: Any) -> Any:
        if isinstance(expr, relax.Tuple):
            return tuple(value(field) for field in expr.fields)
        if isinstance(expr, relax.TupleGetItem):
            return value(expr.tuple_value)[expr.index]
        if isinstance(expr, relax.Var):
            return values[expr]
        if isinstance(expr, tvm.ir.GenericConst):
            return expr.value.numpy()
        operator = operator_of(expr)
        if operator is None:
            return _MOVEMENTS[expr.op.name](expr, value(expr.args[0]))
        return operator.apply(attrs_of(expr), *map(value, expr.args))

    for block in main.body.blocks:
        for binding in block.bindings:
            values[binding.var] = value(binding.value)
    result = values[main.body.body]
    return list(result) if isinstance(result, tuple) else [result]
