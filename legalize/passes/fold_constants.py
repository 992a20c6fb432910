"""Compute expressions of constants."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from qnn_ops.dialect.known_values import Array, value_of
from qnn_ops.dialect.registry import constant_of


def FoldConstants() -> tvm.transform.Pass:
    """Compute integer arithmetic on constants, such as centred weights, biases and zero points.

    TVM's own FoldConstant would compile and run a function for each such call, which takes as
    long as compiling an operator of the model. The integers are the same. Arithmetic of floats is
    left to TVM.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        folder = _Folder(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                folder.builder_.update_func(variable, folder.visit_expr(function))
        return folder.builder_.finalize()

    return tvm.transform.module_pass(rewrite, opt_level=0, name="FoldConstants")


_MOVES = ("relax.full", "relax.permute_dims", "relax.reshape", "relax.strided_slice", "relax.zeros")
_ARITHMETIC = (
    *("relax.add", "relax.astype", "relax.bitwise_and", "relax.equal", "relax.greater"),
    *("relax.greater_equal", "relax.left_shift", "relax.less", "relax.less_equal"),
    *("relax.logical_and", "relax.maximum", "relax.minimum", "relax.multiply"),
    *("relax.not_equal", "relax.right_shift", "relax.subtract", "relax.sum", "relax.where"),
)
"""Functions of integers and truth values; numpy wraps as the processor does."""

# TVM folds zeros only up to this number of elements. Larger ones would make a library larger.
_MOST_ZEROS = 1024


@mutator
class _Folder(PyExprMutator):
    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        self._folded: dict[Any, Any] = {}

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        array = _value_of(rebuilt)
        return rebuilt if array is None else relax.const(array, array.dtype.name)

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        value = self.visit_expr(binding.value)
        if isinstance(binding.var, relax.DataflowVar) and _is_tensor(value):
            self._folded[binding.var] = value
        else:
            self.builder_.emit_normalized(relax.VarBinding(self.visit_var_def(binding.var), value))

    def visit_dataflow_var_(self, variable: Any) -> relax.Expr:
        folded = self._folded.get(variable)
        return self.visit_expr_post_order(variable) if folded is None else folded


def _value_of(call: Any) -> Array | None:
    """Return the call's result; None if the call stays."""
    name = getattr(getattr(call, "op", None), "name", "")
    if name not in (*_MOVES, *_ARITHMETIC) or not _has_known_shape(call):
        return None
    if name == "relax.zeros" and prod(map(int, call.ty.shape.values)) > _MOST_ZEROS:
        return None
    tensors = [each for each in call.args if not isinstance(each, (relax.ShapeExpr, relax.Tuple))]
    if not all(map(_is_tensor, tensors)):
        return None
    fields = [field for each in call.args if isinstance(each, relax.Tuple) for field in each.fields]
    if not all(isinstance(field, tirx.IntImm) for field in fields):
        return None  # each run decides what is sliced
    kinds = {_kind(each) for each in (*tensors, *([call] if name == "relax.astype" else []))}
    if name in _ARITHMETIC and not kinds <= {*"iub"}:
        return None
    result: Array = value_of(call, *map(_operand, call.args))
    return result


def _operand(expr: relax.Expr) -> Any:
    return list(map(int, expr.fields)) if isinstance(expr, relax.Tuple) else constant_of(expr)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, tvm.ir.GenericConst) and isinstance(value.value, tvm.runtime.Tensor)


def _has_known_shape(call: relax.Call) -> bool:
    sizes = getattr(call.ty.shape, "values", None)
    return sizes is not None and all(isinstance(size, tirx.IntImm) for size in sizes)


def _kind(expr: relax.Expr) -> str:
    return np.dtype(str(expr.ty.dtype)).kind
