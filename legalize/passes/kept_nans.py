"""Let maxima, minima and signs keep NaN."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.qdq.group import operator_name
from qnn_ops import dequantize
from qnn_ops.dialect.registry import constant_of, operator_of, spec_of


def keep_nans(mod: tvm.IRModule) -> tvm.IRModule:
    """Keep NaN, as ONNX Runtime does, in operators for which TVM takes the other operand or 0.

    TVM's maximum of two numbers is the second one unless the first is larger; its minimum is the
    second one unless the first is smaller. So the result for NaN and a constant is NaN if the
    constant comes first, which costs nothing.
    """
    keeper = _Keeper(mod)
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            keeper.builder_.update_func(variable, keeper.visit_expr(function))
    return keeper.builder_.finalize()


Rule = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


@mutator
class _Keeper(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a call."""
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        rule = _RULES.get(operator_name(rebuilt))
        if rule is None or not spec_of(rebuilt.args[0]).dtype.startswith("float"):
            return rebuilt
        return self.builder_.normalize(rule(self.builder_, rebuilt))


def _sign(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    (data,) = call.args
    return R.where(builder.emit(R.isnan(data)), data, call)


def _relu(_builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    return R.maximum(_number(0, call), call.args[0])


def _clip(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    data, low, high = call.args
    low, high = (_number(float(end.value), call) for end in (low, high))
    return R.minimum(high, builder.emit(R.maximum(low, data)))


def _extreme(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """Put the operand that may be NaN second. If both may be, NaN of either stays."""
    first, second = call.args
    if _is_number(builder, first):
        return call
    if _is_number(builder, second):
        return relax.Call(call.op, [second, first], call.attrs)
    return R.where(builder.emit(R.isnan(first)), first, call)


def _place(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
    """Return the index of an extreme. NaN counts only as the first element.

    If there are only infinities, TVM's index is -1, and this one is 0.
    """
    (data,), emit, attrs = call.args, builder.emit, call.attrs
    if _is_number(builder, data) or attrs.axis is None:
        return call
    axis, is_largest = int(attrs.axis), "argmax" in operator_name(call)
    bound = _number(-np.inf if is_largest else np.inf, data)
    is_none = emit(R.isnan(data))
    found = emit(relax.Call(call.op, [emit(R.where(is_none, bound, data))], attrs))
    first = emit(R.strided_slice(is_none, [axis], [0], [1]))
    first = emit(R.reshape(first, spec_of(found).shape))
    zero = _number(0, found)
    return R.where(first, zero, emit(R.maximum(zero, found)))


def _is_number(builder: relax.BlockBuilder, expr: relax.Expr) -> bool:
    """Tell whether no element can be NaN."""
    known = constant_of(expr)
    if known is not None:
        return not np.isnan(known).any()
    value = builder.lookup_binding(expr) if isinstance(expr, relax.Var) else expr
    return operator_of(value) is dequantize


def _number(value: float, like: relax.Expr) -> relax.Expr:
    dtype = spec_of(like).dtype
    return relax.const(np.asarray(value, dtype), dtype)


_RULES: dict[str, Rule] = {
    "relax.argmax": _place,
    "relax.argmin": _place,
    "relax.clip": _clip,
    "relax.maximum": _extreme,
    "relax.minimum": _extreme,
    "relax.nn.relu": _relu,
    "relax.sign": _sign,
}
