"""Replace the remaining float functions by those of ONNX Runtime."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.kernels.call import call_tir
from legalize.kernels.softmax.open_floats import OpenKernel, Step
from legalize.passes.rewriter import count_uses
from legalize.qdq.group import operator_name
from qnn_ops import float_function
from qnn_ops.dialect.registry import constant_of, spec_of
from qnn_ops.dialect.sizes import is_open

_FUNCTIONS = {
    "relax.erf": "erf",
    "relax.sigmoid": "onnxruntime_logistic",
    "relax.tanh": "onnxruntime_tanh",
}
"""The dialect's functions that replace those of Relax."""
_SOFTMAXES = {"relax.nn.softmax", "relax.nn.log_softmax"}
_LANES = 16
_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "relax.add": operator.add,
    "relax.subtract": operator.sub,
    "relax.multiply": operator.mul,
    "relax.divide": operator.truediv,
}
"""The operators that the kernel of a softmax computes."""
_MOST_STEPS = 4
_Taken: TypeAlias = "tuple[Step, relax.Expr | None]"
"""A step, and its other operand if it is a tensor."""


def own_functions(mod: tvm.IRModule) -> tvm.IRModule:
    """Write erf, gates and softmax of float32 with the dialect's functions.

    These have ONNX Runtime's bits, and become vector code. A softmax has the bits of a processor
    with AVX512: MLAS chooses its kernel by processor, and this kernel has the most lanes.
    """
    writer = _Writer(mod)
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            writer.enter(function)
            writer.builder_.update_func(variable, writer.visit_expr(function))
    return writer.builder_.finalize()


@mutator
class _Writer(PyExprMutator):
    def enter(self, function: relax.Function) -> None:
        """Find what the function computes."""
        self.uses = count_uses(function)
        self.values = {
            binding.var: binding.value
            for block in function.body.blocks
            for binding in block.bindings
        }

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
        axis, shape = int(rebuilt.attrs.axis), spec_of(data).shape
        if is_open(shape[-1:]) and axis % len(shape) == len(shape) - 1:
            source, steps = self._steps(call.args[0])
            given = [
                (step, None if each is None else self.visit_expr(each)) for step, each in steps
            ]
            return _open_softmax(self.builder_, name, self.visit_expr(source), given)
        return self.builder_.normalize(_softmax(self.builder_, name, data, axis))

    def _steps(self, data: relax.Expr) -> tuple[relax.Expr, list[_Taken]]:
        """Return the first tensor of a chain that nothing else reads, and the chain's steps."""
        steps: list[_Taken] = []
        while len(steps) < _MOST_STEPS and self.uses[data] == 1:
            call = self.values.get(data)
            apply = _STEPS.get(operator_name(call))
            if (
                call is None
                or apply is None
                or {spec_of(each).dtype for each in (*call.args, call)} != {"float32"}
            ):
                break
            shape = spec_of(data).shape
            wholes = [each for each in call.args if spec_of(each).shape == shape]
            if not wholes:
                break
            is_first = not wholes[0].same_as(call.args[0])
            other = call.args[0 if is_first else 1]
            number = constant_of(other)
            if number is not None and number.ndim == 0:
                steps.append((Step(apply, float(number), is_first), None))
            else:
                steps.append((Step(apply, spec_of(other).shape, is_first), other))
            data = wholes[0]
        return data, steps[::-1]


def _softmax(builder: relax.BlockBuilder, name: str, data: relax.Expr, axis: int) -> relax.Expr:
    """Write a softmax, exponentials times the reciprocal of their sum; or its logarithm."""
    emit, shape = builder.emit, spec_of(data).shape
    axis %= len(shape)
    if axis < len(shape) - 1:
        order = [*(place for place in range(len(shape)) if place != axis), axis]
        back = [order.index(place) for place in range(len(shape))]
        moved = emit(R.permute_dims(data, order))
        return R.permute_dims(emit(_softmax(builder, name, moved, -1)), back)
    if is_open(shape[-1:]):
        return _open_softmax(builder, name, data, [])
    count, more = shape[-1], -shape[-1] % _LANES
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
    result = emit(R.reshape(result, (*shape[:-1], count + more)))
    return R.strided_slice(result, [len(shape) - 1], [0], [count]) if more else result


def _open_softmax(
    builder: relax.BlockBuilder, name: str, data: relax.Expr, steps: Sequence[_Taken]
) -> relax.Expr:
    """Write a softmax of rows of open length, and the steps before it, as one kernel."""
    shape, is_logarithm = spec_of(data).shape, name == "relax.nn.log_softmax"
    others = [other for _, other in steps if other is not None]
    function = OpenKernel(shape, [step for step, _ in steps], is_logarithm).build()
    return call_tir(builder, "softmax", function, [data, *others], shape, "float32")


def _sum(builder: relax.BlockBuilder, rows: relax.Expr) -> relax.Expr:
    """Sum rows of the shape [..., turns, lanes] to [..., 1, 1], as MLAS does.

    Lanes are summed over the turns, then both halves of the lanes, then neighbours repeatedly.
    """
    lanes, sizes = builder.emit(R.sum(rows, -2)), spec_of(rows).shape[:-2]
    for axis, pairs in ((-2, (2, 8)), (-1, (4, 2)), (-1, (2, 2)), (-1, (1, 2))):
        lanes = builder.emit(R.reshape(lanes, (*sizes, *pairs)))
        lanes = builder.emit(R.sum(lanes, axis, keepdims=pairs[0] == 1))
    return lanes
