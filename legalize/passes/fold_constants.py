"""Compute expressions of constants."""

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.kernels.kernel import IS_KERNEL
from legalize.passes.rewriter import calls_any
from qnn_ops.arrays import Array
from qnn_ops.dialect.known_values import value_of
from qnn_ops.dialect.registry import as_const, constant_of


def FoldConstants(*, floats: bool = False) -> tvm.transform.Pass:
    """Compute arithmetic on constants, such as centred weights, biases and zero points.

    TVM's own FoldConstant would compile and run a function for each such call, which takes as
    long as compiling an operator of the model. The numbers are the same.

    Args:
        floats: whether to compute arithmetic of float32, too. Functions that numpy rounds in
            another way are left to TVM.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        folder = _Folder(mod, floats)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function) and _may_change(function):
                folder.builder_.update_func(variable, folder.visit_expr(function))
        return folder.builder_.finalize()

    return tvm.transform.module_pass(rewrite, opt_level=0, name="FoldConstants")


def FoldRest(fold: tvm.transform.Pass) -> tvm.transform.Pass:
    """Let TVM's pass ``fold`` compute the calls of constants that remain, but not kernels.

    TVM compiles a function for any processor to run it. A kernel is code for the target.
    """

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        kernels = {
            variable: each
            for variable, each in mod.functions_items()
            if isinstance(each, tirx.PrimFunc) and IS_KERNEL in each.attrs
        }
        unknown = {variable: relax.ExternFunc(variable.name_hint) for variable in kernels}
        hidden = mod.clone()
        hidden.update(tvm.IRModule(unknown))
        folded = fold(hidden)
        folded.update(tvm.IRModule(kernels))
        return folded

    return tvm.transform.module_pass(rewrite, opt_level=0, name="FoldRest")


_MOVES = ("relax.full", "relax.permute_dims", "relax.reshape", "relax.strided_slice", "relax.zeros")
_OF_ANY = (
    *("relax.add", "relax.equal", "relax.greater", "relax.greater_equal", "relax.less"),
    *("relax.less_equal", "relax.maximum", "relax.minimum", "relax.multiply", "relax.subtract"),
    "relax.where",
)
"""Functions of integers, truth values and float32, which round once or not at all."""
_OF_INTEGERS = (
    *("relax.astype", "relax.bitwise_and", "relax.left_shift", "relax.logical_and"),
    *("relax.not_equal", "relax.right_shift", "relax.sum"),
)
"""Further functions of integers and truth values; numpy wraps as the processor does."""
_OF_FLOATS = ("relax.abs", "relax.divide", "relax.negative")
"""Further functions of float32."""
_FUNCTIONS = (*_MOVES, *_OF_ANY, *_OF_INTEGERS, *_OF_FLOATS)

# TVM folds zeros only up to this number of elements. Larger ones would make a library larger.
_MOST_ZEROS = 1024


def _may_change(function: relax.Function) -> bool:
    bindings = (binding for block in function.body.blocks for binding in block.bindings)
    return calls_any(function, _FUNCTIONS) or any(
        isinstance(binding.var, relax.DataflowVar) and _is_tensor(binding.value)
        for binding in bindings
    )


@mutator
class _Folder(PyExprMutator):
    def __init__(self, mod: tvm.IRModule, floats: bool) -> None:
        super().__init__(mod)
        self._floats = floats
        self._folded: dict[Any, Any] = {}

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        array = _value_of(rebuilt, floats=self._floats)
        return rebuilt if array is None else as_const(array)

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        value = self.visit_expr(binding.value)
        if isinstance(binding.var, relax.DataflowVar) and _is_tensor(value):
            self._folded[binding.var] = value
        else:
            self.builder_.emit_normalized(relax.VarBinding(self.visit_var_def(binding.var), value))

    def visit_dataflow_var_(self, variable: Any) -> relax.Expr:
        folded = self._folded.get(variable)
        return self.visit_expr_post_order(variable) if folded is None else folded


def _value_of(call: Any, *, floats: bool) -> Array | None:
    """Return the call's result; None if the call stays."""
    name = getattr(getattr(call, "op", None), "name", "")
    if name not in _FUNCTIONS or not _has_known_shape(call):
        return None
    if name == "relax.zeros" and prod(map(int, call.ty.shape.values)) > _MOST_ZEROS:
        return None
    tensors = [each for each in call.args if not isinstance(each, (relax.ShapeExpr, relax.Tuple))]
    if not all(map(_is_tensor, tensors)):
        return None
    fields = [field for each in call.args if isinstance(each, relax.Tuple) for field in each.fields]
    if not all(isinstance(field, tirx.IntImm) for field in fields):
        return None  # each run decides what is sliced
    typed = (*tensors, *([call] if name == "relax.astype" else []))
    if not _is_computed(name, (str(each.ty.dtype) for each in typed), floats=floats):
        return None
    with np.errstate(all="ignore"):
        result: Array = value_of(call, *map(_operand, call.args))
    return result


def _is_computed(name: str, dtypes: Iterable[str], *, floats: bool) -> bool:
    if name in _MOVES:
        return True
    kinds = {*"iub"} if name in (*_OF_ANY, *_OF_INTEGERS) else set()
    takes_floats = floats and name in (*_OF_ANY, *_OF_FLOATS)
    return all(
        np.dtype(each).kind in kinds or (takes_floats and each == "float32") for each in dtypes
    )


def _operand(expr: relax.Expr) -> Any:
    return list(map(int, expr.fields)) if isinstance(expr, relax.Tuple) else constant_of(expr)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, tvm.ir.GenericConst) and isinstance(value.value, tvm.runtime.Tensor)


def _has_known_shape(call: relax.Call) -> bool:
    sizes = getattr(call.ty.shape, "values", None)
    return sizes is not None and all(isinstance(size, tirx.IntImm) for size in sizes)
