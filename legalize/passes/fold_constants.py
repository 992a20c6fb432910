"""Compute expressions of constants."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

Array = np.ndarray[Any, Any]


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


_BY_NAME: dict[str, Callable[..., Array]] = {
    "relax.add": np.add,
    "relax.bitwise_and": np.bitwise_and,
    "relax.equal": np.equal,
    "relax.greater": np.greater,
    "relax.greater_equal": np.greater_equal,
    "relax.left_shift": np.left_shift,
    "relax.less": np.less,
    "relax.less_equal": np.less_equal,
    "relax.logical_and": np.logical_and,
    "relax.maximum": np.maximum,
    "relax.minimum": np.minimum,
    "relax.multiply": np.multiply,
    "relax.not_equal": np.not_equal,
    "relax.right_shift": np.right_shift,
    "relax.subtract": np.subtract,
    "relax.where": np.where,
}
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
    if not isinstance(call, relax.Call) or not call.args:
        return None
    name = getattr(call.op, "name", "")
    if name == "relax.zeros" and _has_known_shape(call) and prod(_shape(call)) <= _MOST_ZEROS:
        return np.zeros(_shape(call), str(call.ty.dtype))
    data, *others = call.args
    if name == "relax.full" and _is_tensor(others[0]) and _has_known_shape(call):
        return np.full(_shape(call), _array(others[0]), str(call.ty.dtype))
    if not _is_tensor(data):
        return None
    if name == "relax.reshape":
        return _array(data).reshape(_shape(call))
    if name == "relax.permute_dims":
        axes = call.attrs.axes
        order = None if axes is None else [int(axis) for axis in axes]
        return np.ascontiguousarray(np.transpose(_array(data), order))
    if name == "relax.strided_slice":
        return _sliced(_array(data), *others)
    arrays = [_array(other) for other in (data, *others) if _is_tensor(other)]
    if len(arrays) != len(call.args) or not all(_is_integer(array) for array in arrays):
        return None
    if name == "relax.sum":
        axes = None if call.attrs.axis is None else tuple(map(int, call.attrs.axis))
        (data,) = arrays
        return np.sum(data, axes, data.dtype, keepdims=bool(call.attrs.keepdims))
    if name == "relax.astype":
        dtype = np.dtype(str(call.attrs.dtype))
        return arrays[0].astype(dtype) if dtype.kind in "iu" else None
    function = _BY_NAME.get(name)
    return None if function is None else np.asarray(function(*arrays), str(call.ty.dtype))


def _sliced(array: Array, *bounds: relax.Tuple) -> Array:
    """Return a part. ``bounds`` are axes, and of each its begin, its end and perhaps its step."""
    parts = [slice(None)] * array.ndim
    for axis, *ends in zip(*(map(int, each.fields) for each in bounds), strict=True):
        parts[axis] = slice(*ends)
    return np.ascontiguousarray(array[tuple(parts)])


def _is_tensor(value: Any) -> bool:
    return isinstance(value, tvm.ir.GenericConst) and isinstance(value.value, tvm.runtime.Tensor)


def _has_known_shape(call: relax.Call) -> bool:
    sizes = getattr(call.ty.shape, "values", None)
    return sizes is not None and all(isinstance(size, tirx.IntImm) for size in sizes)


def _shape(call: relax.Call) -> list[int]:
    return [int(size) for size in call.ty.shape]


def _is_integer(array: Array) -> bool:
    return array.dtype.kind in "iub"


def _array(constant: Any) -> Array:
    array: Array = constant.value.numpy()
    return array
