"""Replace the remaining float functions by those of ONNX Runtime."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import mutator

from legalize.kernels.call import call_tir
from legalize.kernels.softmax.floats import OPERATORS, WHERE, Kernel, Step
from legalize.passes.rewriter import CallRewriter
from legalize.qdq.group import operator_name
from qnn_ops import float_function
from qnn_ops.dialect.registry import constant_of, spec_of

_FUNCTIONS = {
    "relax.erf": "erf",
    "relax.sigmoid": "onnxruntime_logistic",
    "relax.tanh": "onnxruntime_tanh",
}
"""The dialect's functions that replace those of Relax."""
_SOFTMAXES = {"relax.nn.softmax", "relax.nn.log_softmax"}
_MOST_STEPS = 4
_Taken: TypeAlias = "tuple[Step, relax.Expr | None]"
"""A step, and its other operand if it is a tensor."""


def own_functions(mod: tvm.IRModule) -> tvm.IRModule:
    """Write erf, gates and softmax of float32 with the dialect's functions.

    These have ONNX Runtime's bits, and become vector code. A softmax has the bits of a processor
    with AVX512: MLAS chooses its kernel by processor, and this kernel has the most lanes.
    """
    return _Writer(mod).rewrite_module(mod)


@mutator
class _Writer(CallRewriter):
    operators = (*_FUNCTIONS, *_SOFTMAXES)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a call."""
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        name = operator_name(rebuilt)
        if name not in self.operators or spec_of(rebuilt).dtype != "float32":
            return rebuilt
        if name in _FUNCTIONS:
            return self.builder_.normalize(float_function(rebuilt.args[0], _FUNCTIONS[name]))
        return self.builder_.normalize(self._softmax(name, call.args[0], int(rebuilt.attrs.axis)))

    def _softmax(self, name: str, data: relax.Expr, axis: int) -> relax.Expr:
        """Write a softmax, and the steps before it, as one kernel: of rows that lie in memory."""
        rank, emit = len(spec_of(data).shape), self.builder_.emit
        if axis % rank < rank - 1:
            order = [*(place for place in range(rank) if place != axis % rank), axis % rank]
            back = [order.index(place) for place in range(rank)]
            moved = emit(R.permute_dims(self.visit_expr(data), order))
            return R.permute_dims(self._softmax(name, moved, -1), back)
        source, taken = self._steps(data)
        shape, others = spec_of(source).shape, [each for _, each in taken if each is not None]
        is_logarithm = name == "relax.nn.log_softmax"
        is_causal = bool(taken) and not is_logarithm and _is_causal(*taken[-1], shape)
        function = Kernel(shape, [step for step, _ in taken], is_logarithm, is_causal).build()
        operands = [self.visit_expr(each) for each in (source, *others)]
        return call_tir(self.builder_, "softmax", function, operands, shape, "float32")

    def _steps(self, data: relax.Expr) -> tuple[relax.Expr, list[_Taken]]:
        """Return the first tensor of a chain that nothing else reads, and the chain's steps."""
        steps: list[_Taken] = []
        start = data
        while len(steps) < _MOST_STEPS and self.facts.uses[data] == 1:
            found = _step(self.facts.values.get(data))
            if found is None:
                break
            data, taken = found
            steps.append(taken)
        # The kernel of a dense layer scales its sums itself.
        is_scaled = operator_name(self.facts.values.get(data)) == "relax.astype"
        return (start, []) if is_scaled else (data, steps[::-1])


def _is_causal(step: Step, condition: relax.Expr | None, shape: Sequence[Any]) -> bool:
    """Tell whether a step hides the columns after each row's own number, as a prompt's mask does.

    No result depends on hidden elements. Their weights are equal, and 0 unless all elements of a
    row are hidden or NaN.
    """
    array = None if condition is None else constant_of(condition)
    if not step.hides or array is None or array.shape[-2:] != (*shape[-2:],):
        return False
    return np.array_equal(array.squeeze(), np.tri(shape[-1], dtype=bool))


def _step(call: relax.Call | None) -> tuple[relax.Expr, _Taken] | None:
    """Return the rows that a call takes, if it is a step, and the step."""
    name = operator_name(call)
    if call is None or name not in (*OPERATORS, WHERE):
        return None
    *conditions, first, second = call.args
    specs = [spec_of(each) for each in (call, first, second)]
    if {spec.dtype for spec in specs} != {"float32"}:
        return None
    is_second = specs[1].shape != specs[0].shape
    rows, other = (second, first) if is_second else (first, second)
    if spec_of(rows).shape != specs[0].shape:
        return None
    array = constant_of(other)
    number = float(array) if array is not None and array.ndim == 0 else None
    if name == WHERE:
        if number is None:
            return None
        (condition,) = conditions
        return rows, (Step(name, spec_of(condition).shape, is_second, number), condition)
    if number is None:
        return rows, (Step(name, spec_of(other).shape, is_second), other)
    return rows, (Step(name, number, is_second), None)
