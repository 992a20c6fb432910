"""Let what is left of float functions be ONNX Runtime's."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.qdq.group import operator_name
from qnn_ops import float_function
from qnn_ops.lanes import lanes_of, max_of_lanes, sum_of_lanes
from qnn_ops.registry import spec_of

_FUNCTIONS = {
    "relax.erf": "erf",
    "relax.sigmoid": "onnxruntime_logistic",
    "relax.tanh": "onnxruntime_tanh",
}
"""The dialect's for those of Relax."""


def own_functions(mod: tvm.IRModule) -> tvm.IRModule:
    """Write erf, gates and softmax of float32 with the dialect's functions.

    These have ONNX Runtime's bits, but for the softmax, and become vector code.
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
        known = name in _FUNCTIONS or name == "relax.nn.softmax"
        if not known or spec_of(rebuilt).dtype != "float32":
            return rebuilt
        data = rebuilt.args[0]
        if name in _FUNCTIONS:
            return self.builder_.normalize(float_function(data, _FUNCTIONS[name]))
        return self.builder_.normalize(self._softmax(data, int(rebuilt.attrs.axis)))

    def _softmax(self, data: relax.Expr, axis: int) -> relax.Expr:
        """Write a softmax: exponentials times the reciprocal of their sum."""
        emit, shape = self.builder_.emit, spec_of(data).shape
        axis %= len(shape)
        if axis < len(shape) - 1:
            order = [*(place for place in range(len(shape)) if place != axis), axis]
            back = [order.index(place) for place in range(len(shape))]
            return R.permute_dims(emit(self._softmax(emit(R.permute_dims(data, order)), -1)), back)
        # As many lanes as ONNX Runtime has on AVX512.
        rows = emit(R.reshape(data, (*shape[:-1], *lanes_of(shape[-1], 16))))
        most = max_of_lanes(self.builder_, rows)
        terms = emit(float_function(emit(R.subtract(rows, most)), "exp"))
        total = sum_of_lanes(self.builder_, terms)
        result = R.multiply(terms, emit(R.divide(relax.const(np.float32(1)), total)))
        return R.reshape(emit(result), shape)
