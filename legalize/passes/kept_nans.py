"""Let maxima, minima and signs keep NaN."""

from collections.abc import Callable
from functools import partial

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.rewriter import CallRewriter, rewrite_calls
from legalize.qdq.group import operator_name
from qnn_ops import dequantize
from qnn_ops.dialect.registry import constant_of, spec_of


def keep_nans(mod: tvm.IRModule) -> tvm.IRModule:
    """Keep NaN, as ONNX Runtime does, in operators for which TVM takes the other operand or 0.

    TVM's maximum of two numbers is the second one unless the first is larger; its minimum is the
    second one unless the first is smaller. So the result for NaN and a constant is NaN if the
    constant comes first, which costs nothing.
    """
    return rewrite_calls(mod, _RULES)


def _sign(writer: CallRewriter, call: relax.Call) -> relax.Expr:
    (data,) = call.args
    return R.where(writer.builder_.emit(R.isnan(data)), data, call)


def _relu(_writer: CallRewriter, call: relax.Call) -> relax.Expr:
    return R.maximum(_number(0, call), call.args[0])


def _clip(writer: CallRewriter, call: relax.Call) -> relax.Expr:
    data, low, high = call.args
    low, high = (_number(float(end.value), call) for end in (low, high))
    return R.minimum(high, writer.builder_.emit(R.maximum(low, data)))


def _extreme(writer: CallRewriter, call: relax.Call) -> relax.Expr:
    """Put the operand that may be NaN second. If both may be, NaN of either stays."""
    first, second = call.args
    if _is_number(writer, first):
        return call
    if _is_number(writer, second):
        return relax.Call(call.op, [second, first], call.attrs)
    return R.where(writer.builder_.emit(R.isnan(first)), first, call)


def _place(writer: CallRewriter, call: relax.Call) -> relax.Expr:
    """Return the index of an extreme. NaN counts only as the first element.

    If there are only infinities, TVM's index is -1, and this one is 0.
    """
    (data,), emit, attrs = call.args, writer.builder_.emit, call.attrs
    if _is_number(writer, data) or attrs.axis is None:
        return call
    axis, is_largest = int(attrs.axis), "argmax" in operator_name(call)
    bound = _number(-np.inf if is_largest else np.inf, data)
    is_none = emit(R.isnan(data))
    found = emit(relax.Call(call.op, [emit(R.where(is_none, bound, data))], attrs))
    first = emit(R.strided_slice(is_none, [axis], [0], [1], assume_inbound=True))
    first = emit(R.reshape(first, spec_of(found).shape))
    zero = _number(0, found)
    return R.where(first, zero, emit(R.maximum(zero, found)))


def _is_number(writer: CallRewriter, expr: relax.Expr) -> bool:
    """Tell whether no element can be NaN."""
    known = constant_of(expr)
    if known is not None:
        return not np.isnan(known).any()
    return writer.producer(expr, dequantize) is not None


def _number(value: float, like: relax.Expr) -> relax.Expr:
    dtype = spec_of(like).dtype
    return relax.const(np.asarray(value, dtype), dtype)


def _of_floats(
    rule: Callable[[CallRewriter, relax.Call], relax.Expr],
    writer: CallRewriter,
    _original: relax.Call,
    call: relax.Call,
) -> relax.Expr | None:
    return rule(writer, call) if spec_of(call.args[0]).dtype.startswith("float") else None


_RULES = {
    f"relax.{name}": partial(_of_floats, rule)
    for name, rule in {
        "argmax": _place,
        "argmin": _place,
        "clip": _clip,
        "maximum": _extreme,
        "minimum": _extreme,
        "nn.relu": _relu,
        "sign": _sign,
    }.items()
}
