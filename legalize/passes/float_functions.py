"""Replace the remaining float functions by those of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax, te, tirx
from tvm.relax import op as R
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.qdq.group import operator_name
from qnn_ops import float_function
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import Size

_FUNCTIONS = {
    "relax.erf": "erf",
    "relax.sigmoid": "onnxruntime_logistic",
    "relax.tanh": "onnxruntime_tanh",
}
"""The dialect's functions for those of Relax."""
_SOFTMAXES = {"relax.nn.softmax", "relax.nn.log_softmax"}
_LANES = 16


def own_functions(mod: tvm.IRModule) -> tvm.IRModule:
    """Write erf, gates and softmax of float32 with the dialect's functions.

    These have ONNX Runtime's bits, and become vector code. A softmax has the bits of a processor
    with AVX512: MLAS chooses its kernel by processor, and this kernel has the most lanes.
    """
    writer = _Writer(mod)
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            writer.builder_.update_func(variable, writer.visit_expr(function))
    return writer.builder_.finalize()


@mutator
class _Writer(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a call."""
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        name = operator_name(rebuilt)
        known = name in _FUNCTIONS or name in _SOFTMAXES
        if not known or spec_of(rebuilt).dtype != "float32":
            return rebuilt
        data = rebuilt.args[0]
        if name in _FUNCTIONS:
            return self.builder_.normalize(float_function(data, _FUNCTIONS[name]))
        return self.builder_.normalize(_softmax(self.builder_, name, data, int(rebuilt.attrs.axis)))


def _softmax(builder: relax.BlockBuilder, name: str, data: relax.Expr, axis: int) -> relax.Expr:
    """Write a softmax: exponentials times the reciprocal of their sum; or its logarithm."""
    emit, shape = builder.emit, spec_of(data).shape
    axis %= len(shape)
    if axis < len(shape) - 1:
        order = [*(place for place in range(len(shape)) if place != axis), axis]
        back = [order.index(place) for place in range(len(shape))]
        moved = emit(R.permute_dims(data, order))
        return R.permute_dims(emit(_softmax(builder, name, moved, -1)), back)
    count, more = shape[-1], -shape[-1] % _LANES
    if isinstance(count, Size):
        rows = emit(_rows(builder, data))
    else:
        if more:  # The exponentials of padding are 0, or vanish beside a sum of at least 1.
            data = emit(R.nn.pad(data, [0] * (2 * len(shape) - 1) + [more], pad_value=-np.inf))
        rows = emit(R.reshape(data, (*shape[:-1], (count + more) // _LANES, _LANES)))
    most = emit(R.max(emit(R.max(rows, -2, keepdims=True)), -1, keepdims=True))
    distance = emit(R.subtract(rows, most))
    terms = emit(float_function(distance, "exp"))
    total = _sum(builder, terms)
    if name == "relax.nn.softmax":
        result = emit(R.multiply(terms, emit(R.divide(relax.const(np.float32(1)), total))))
    else:
        result = emit(R.subtract(distance, emit(R.log(total))))
    if isinstance(count, Size):
        return _joined(builder, result, data)
    result = emit(R.reshape(result, (*shape[:-1], count + more)))
    return R.strided_slice(result, [len(shape) - 1], [0], [count]) if more else result


def _rows(builder: relax.BlockBuilder, data: relax.Expr) -> relax.Expr:
    """Return rows of lanes of an open number of elements, filled up with minus infinity."""

    def compute(tensor: te.Tensor) -> te.Tensor:
        *outer, count = tensor.shape

        def element(*indices: Any) -> Any:
            *place, turn, lane = indices
            index, lowest = turn * _LANES + lane, tirx.const(-np.inf, "float32")
            return tirx.if_then_else(index < count, tensor(*place, index), lowest)

        turns = tirx.floordiv(count + (_LANES - 1), _LANES)
        return te.compute((*outer, turns, _LANES), element, "rows")

    return builder.call_te(compute, data, primfunc_name_hint="rows")


def _joined(builder: relax.BlockBuilder, rows: relax.Expr, like: relax.Expr) -> relax.Expr:
    """Return rows of lanes as rows of a tensor's shape."""

    def compute(tensor: te.Tensor, other: te.Tensor) -> te.Tensor:
        def element(*indices: Any) -> Any:
            *place, index = indices
            return tensor(*place, tirx.floordiv(index, _LANES), tirx.floormod(index, _LANES))

        return te.compute(other.shape, element, "joined")

    return builder.call_te(compute, rows, like, primfunc_name_hint="joined")


def _sum(builder: relax.BlockBuilder, rows: relax.Expr) -> relax.Expr:
    """Sum rows of the shape [..., turns, lanes] to [..., 1, 1], as MLAS does.

    Lanes are summed over the turns, then both halves of the lanes, then neighbours repeatedly.
    """
    lanes, sizes = builder.emit(R.sum(rows, -2)), spec_of(rows).shape[:-2]
    for axis, pairs in ((-2, (2, 8)), (-1, (4, 2)), (-1, (2, 2)), (-1, (1, 2))):
        lanes = builder.emit(R.reshape(lanes, (*sizes, *pairs)))
        lanes = builder.emit(R.sum(lanes, axis, keepdims=pairs[0] == 1))
    return lanes
