"""Make int8 activations uint8, by adding 128, where convolutions read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, module_pass, with_attrs
from qnn_ops import (
    quantize,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_dense,
    quantized_lookup,
    quantized_mean,
    quantized_multiply,
    quantized_pad,
    quantized_pool2d,
    quantized_relu,
    quantized_resize2d,
    quantized_softmax,
    quantized_subtract,
    requantize,
)
from qnn_ops.quantized_pool2d import origin_of
from qnn_ops.registry import Attrs, Operator, attrs_of, constant_of, operator_of

_OFFSET = 128

_Changes = Callable[[Attrs], "dict[str, Any]"]


def _moved(*names: str) -> _Changes:
    """The change that adds 128 to the attributes, one number or one per channel each."""

    def changes(attrs: Attrs) -> dict[str, Any]:
        return {name: _add_offset(getattr(attrs, name)) for name in names if hasattr(attrs, name)}

    return changes


def _add_offset(value: int | tuple[int, ...]) -> int | list[int]:
    if isinstance(value, tuple):
        return [item + _OFFSET for item in value]
    return value + _OFFSET


def _result(*names: str) -> _Changes:
    move = _moved(*names, "out_min", "out_max")
    return lambda attrs: {"out_dtype": "uint8", **move(attrs)}


# By operator: what becomes of its attributes where an operand is moved.
_OPERANDS: dict[Operator[Any] | None, dict[int, _Changes]] = {
    quantized_add: {0: _moved("lhs_zero_point"), 1: _moved("rhs_zero_point")},
    quantized_multiply: {0: _moved("lhs_zero_point"), 1: _moved("rhs_zero_point")},
    quantized_subtract: {0: _moved("lhs_zero_point"), 1: _moved("rhs_zero_point")},
    quantized_conv2d: {0: _moved("input_zero_point")},
    quantized_dense: {0: _moved("input_zero_point")},
    quantized_lookup: {0: _moved()},
    quantized_mean: {0: _moved("input_zero_point")},
    quantized_relu: {0: _moved("input_zero_point")},
    quantized_softmax: {0: _moved("input_zero_point")},
    requantize: {0: _moved("input_zero_point")},
}
# By operator: what becomes of its attributes where its result is moved.
_RESULTS: dict[Operator[Any] | None, _Changes] = {
    quantize: lambda attrs: {"out_dtype": "uint8", **_moved("zero_point")(attrs)},
    quantized_add: _result("output_zero_point"),
    quantized_conv2d: _result("output_zero_point"),
    quantized_dense: _result("output_zero_point"),
    quantized_mean: _result("output_zero_point"),
    quantized_multiply: _result("output_zero_point"),
    quantized_relu: _result("output_zero_point"),
    quantized_softmax: _result("output_zero_point"),
    quantized_subtract: _result("output_zero_point"),
    requantize: _result("output_zero_point"),
}
# By operator that keeps its operands' dtype: what becomes of its attributes where both are moved.
_KEEPING: dict[Operator[Any] | None, _Changes] = {
    quantized_concat: _result("input_zero_points", "output_zero_point"),
    quantized_pad: _moved("pad_value"),
    quantized_resize2d: _moved(),
    quantized_pool2d: lambda attrs: {
        **_moved("out_min", "out_max")(attrs),
        **({"origin": origin_of(attrs) + _OFFSET} if attrs.pool_type == "avg" else {}),
    },
}
_MOVEMENTS = {
    f"relax.{name}"
    for name in ("expand_dims", "flatten", "permute_dims", "reshape", "squeeze", "strided_slice")
}


@mutator
class _PreferUnsigned(CallRewriter):
    def enter(self, function: relax.Function) -> None:
        # By variable of an int8 result that is moved: the uint8 variable.
        self.unsigned: dict[relax.Var, relax.Var] = {}
        self.moved: dict[relax.Call, relax.Var] = {}
        blocks = function.body.blocks
        # A variable of one block may not be known to the next.
        bindings = list(blocks[0].bindings) if len(blocks) == 1 else []
        wanted: set[Any] = set()
        for binding in reversed(bindings):
            if _multiplies(binding.value):
                wanted.add(binding.value.args[0])
            elif binding.var in wanted and _keeps_dtype(binding.value):
                wanted.update(_tensors(binding.value.args[0]))
        moved: set[Any] = set()
        for binding in bindings:
            if binding.var in wanted and _can_move(binding.value, moved):
                moved.add(binding.var)
                self.moved[binding.value] = binding.var

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        variable = self.moved.get(call)
        rebuilt = self.visit_expr_post_order(call)
        operator = operator_of(call)
        arguments, changes = list(rebuilt.args), {}
        attrs = Attrs() if operator is None else attrs_of(call)
        for place, change in _OPERANDS.get(operator, {}).items():
            if call.args[place] in self.unsigned:
                arguments[place] = self.unsigned[call.args[place]]
                changes.update(change(attrs))
        if variable is not None:
            if _keeps_dtype(call):
                arguments[0] = self._unsigned(call.args[0])
            elif operator is quantized_lookup:
                arguments[1] = _flipped(call.args[1])
            changes.update(_RESULTS.get(operator, _KEEPING.get(operator, _moved()))(attrs))
        result = relax.Call(rebuilt.op, arguments, rebuilt.attrs, rebuilt.ty_args)
        if changes:
            result = with_attrs(result, **changes)
        if variable is None:
            return self.builder_.normalize(result)
        # Under the same name, by which a profile knows whose result it is.
        self.unsigned[variable] = self.builder_.emit(result, variable.name)
        # For those who read int8; if nobody does, it goes with the dead code.
        return requantize(self.unsigned[variable], 1.0, _OFFSET, 1.0, 0, "int8")

    def _unsigned(self, operand: relax.Expr) -> relax.Expr:
        if isinstance(operand, relax.Tuple):
            return relax.Tuple([self.unsigned[field] for field in operand.fields])
        return self.unsigned[operand]


def PreferUnsigned() -> tvm.transform.Pass:
    """Make int8 results uint8, by adding 128, where a convolution reads them.

    Kernels that multiply unsigned by signed bytes would add it to a copy of their data. Zero
    points and bounds move along, so every real number, and every rounding, stays the same;
    weights stay as they are. An average's ties keep their direction by its ``origin``.
    What the model takes and returns keeps its dtype.
    """
    return module_pass(_PreferUnsigned, "PreferUnsigned")


def _multiplies(value: relax.Expr) -> bool:
    operator = operator_of(value)
    if operator is quantized_conv2d:
        return bool(attrs_of(value).groups == 1)
    return operator is quantized_dense


def _keeps_dtype(value: relax.Expr) -> bool:
    """Whether a call gives its operand's values as they are, or picks among them."""
    operator = operator_of(value)
    if operator is quantized_resize2d:
        return bool(attrs_of(value).method == "nearest_neighbor")
    if operator is not None:
        return operator in _KEEPING
    return (
        isinstance(value, relax.Call)
        and isinstance(value.op, tvm.ir.Op)
        and value.op.name in _MOVEMENTS
    )


def _tensors(operand: relax.Expr) -> list[relax.Expr]:
    return list(operand.fields) if isinstance(operand, relax.Tuple) else [operand]


def _can_move(value: relax.Expr, moved: set[Any]) -> bool:
    """Whether a call has an int8 result, and can have a uint8 one."""
    if not isinstance(value.ty, relax.TensorType) or str(value.ty.dtype) != "int8":
        return False
    if _keeps_dtype(value):
        return all(operand in moved for operand in _tensors(value.args[0]))
    operator = operator_of(value)
    if operator is quantized_lookup:
        return constant_of(value.args[1]) is not None
    return operator in _RESULTS


def _flipped(table: relax.Expr) -> relax.Expr:
    values = constant_of(table)
    assert values is not None
    return relax.const(values.view(np.uint8) ^ np.uint8(_OFFSET), "uint8")
