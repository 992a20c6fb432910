"""Make activations uint8, or int8, by moving them by 128, where convolutions read them."""

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
from qnn_ops.quantized_concat import conversion_table
from qnn_ops.quantized_pool2d import origin_of
from qnn_ops.registry import Attrs, Operator, attrs_of, constant_of, operator_of

_FLIP = 128
_OFFSETS = {"uint8": _FLIP, "int8": -_FLIP}

# What becomes of attributes where values are moved to a dtype.
_Changes = Callable[[Attrs, str], "dict[str, Any]"]


def _moved(*names: str) -> _Changes:
    """The change that moves the attributes along, one number or one per channel each."""

    def changes(attrs: Attrs, dtype: str) -> dict[str, Any]:
        offset = _OFFSETS[dtype]
        return {name: _add(getattr(attrs, name), offset) for name in names if hasattr(attrs, name)}

    return changes


def _add(value: int | tuple[int, ...], offset: int) -> int | list[int]:
    return [item + offset for item in value] if isinstance(value, tuple) else value + offset


def _result(*names: str) -> _Changes:
    move = _moved(*names, "out_min", "out_max")
    return lambda attrs, dtype: {"out_dtype": dtype, **move(attrs, dtype)}


def _concat(attrs: Attrs, dtype: str) -> dict[str, Any]:
    """The inputs have the output's quantization by then: see ``_inputs``."""
    count = len(attrs.input_scales)
    return {
        **_result("output_zero_point")(attrs, dtype),
        "input_scales": [attrs.output_scale] * count,
        "input_zero_points": [attrs.output_zero_point + _OFFSETS[dtype]] * count,
    }


def _pool(attrs: Attrs, dtype: str) -> dict[str, Any]:
    changes = _moved("out_min", "out_max")(attrs, dtype)
    if attrs.pool_type == "avg":
        changes["origin"] = origin_of(attrs) + _OFFSETS[dtype]
    return changes


# By operator: what becomes of its attributes where an operand is moved.
_OPERANDS: dict[Operator[Any] | None, dict[int, _Changes]] = {
    quantized_add: {0: _moved("lhs_zero_point"), 1: _moved("rhs_zero_point")},
    quantized_multiply: {0: _moved("lhs_zero_point"), 1: _moved("rhs_zero_point")},
    quantized_subtract: {0: _moved("lhs_zero_point"), 1: _moved("rhs_zero_point")},
    quantized_conv2d: {0: _moved("input_zero_point"), 3: _moved("addend_zero_point")},
    quantized_dense: {0: _moved("input_zero_point")},
    quantized_lookup: {0: _moved()},
    quantized_mean: {0: _moved("input_zero_point")},
    quantized_relu: {0: _moved("input_zero_point")},
    quantized_softmax: {0: _moved("input_zero_point")},
    requantize: {0: _moved("input_zero_point")},
}
# By operator: what becomes of its attributes where its result is moved.
_RESULTS: dict[Operator[Any] | None, _Changes] = {
    quantize: lambda attrs, dtype: {"out_dtype": dtype, **_moved("zero_point")(attrs, dtype)},
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
    quantized_concat: _concat,
    quantized_pad: _moved("pad_value"),
    quantized_resize2d: _moved(),
    quantized_pool2d: _pool,
}
_MOVEMENTS = {
    f"relax.{name}"
    for name in ("expand_dims", "flatten", "permute_dims", "reshape", "squeeze", "strided_slice")
}


def PreferSignedness(dtype: str) -> tvm.transform.Pass:
    """Make 8-bit results ``dtype``, by adding or subtracting 128, where a convolution reads them.

    Kernels that multiply bytes of one signedness would do it to a copy of their data. Zero
    points and bounds move along, so every real number, and every rounding, stays the same;
    weights stay as they are. An average's ties keep their direction by its ``origin``, and a
    concatenation's conversions, whose float32 arithmetic depends on the values, become tables.
    What the model takes and returns keeps its dtype.

    Args:
        dtype: ``uint8`` or ``int8``.
    """
    other = "int8" if dtype == "uint8" else "uint8"

    @mutator
    class _PreferSignedness(CallRewriter):
        def enter(self, function: relax.Function) -> None:
            # By variable of a result that is moved: the variable of the moved one.
            self.variables: dict[relax.Var, relax.Var] = {}
            self.moved: dict[relax.Call, relax.Var] = {}
            blocks = function.body.blocks
            # A variable of one block may not be known to the next.
            bindings = list(blocks[0].bindings) if len(blocks) == 1 else []
            wanted: set[Any] = set()
            for binding in reversed(bindings):
                if _multiplies(binding.value, dtype):
                    wanted.add(binding.value.args[0])
                elif binding.var in wanted and _keeps_dtype(binding.value):
                    wanted.update(_tensors(binding.value.args[0]))
            moved: set[Any] = set()
            for binding in bindings:
                if binding.var in wanted and _can_move(binding.value, other, moved):
                    moved.add(binding.var)
                    self.moved[binding.value] = binding.var

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            variable = self.moved.get(call)
            rebuilt = self.visit_expr_post_order(call)
            operator = operator_of(call)
            arguments, changes = list(rebuilt.args), {}
            attrs = Attrs() if operator is None else attrs_of(call)
            for place, change in _OPERANDS.get(operator, {}).items():
                if place < len(call.args) and call.args[place] in self.variables:
                    arguments[place] = self.variables[call.args[place]]
                    changes.update(change(attrs, dtype))
            if variable is not None:
                if _keeps_dtype(call):
                    arguments[0] = self._inputs(attrs, call.args[0])
                elif operator is quantized_lookup:
                    arguments[1] = _flipped(constant_of(call.args[1]), dtype)
                changes.update(
                    _RESULTS.get(operator, _KEEPING.get(operator, _moved()))(attrs, dtype)
                )
            result = relax.Call(rebuilt.op, arguments, rebuilt.attrs, rebuilt.ty_args)
            if changes:
                result = with_attrs(result, **changes)
            if variable is None:
                return self.builder_.normalize(result)
            # Under the same name, by which a profile knows whose result it is.
            self.variables[variable] = self.builder_.emit(result, variable.name)
            # For those who read the other dtype; if nobody does, it goes with the dead code.
            zero_points = (_FLIP, 0) if dtype == "uint8" else (0, _FLIP)
            return requantize(
                self.variables[variable], 1.0, zero_points[0], 1.0, zero_points[1], other
            )

        def _inputs(self, attrs: Attrs, operand: relax.Expr) -> relax.Expr:
            """The moved tensor, or tensors, with the output's quantization."""
            if not isinstance(operand, relax.Tuple):
                return self.variables[operand]
            fields = []
            for index, field in enumerate(operand.fields):
                moved = self.variables[field]
                table = conversion_table(attrs, index)
                if table is not None:
                    moved = self.builder_.emit(quantized_lookup(moved, _flipped(table, dtype)))
                fields.append(moved)
            return relax.Tuple(fields)

    return module_pass(_PreferSignedness, "PreferSignedness")


def _multiplies(value: relax.Expr, dtype: str) -> bool:
    """Whether a call's kernels multiply bytes of ``dtype`` as they are."""
    operator = operator_of(value)
    if operator is quantized_conv2d:
        # The depthwise ones of x86 rearrange bytes before, of whichever signedness.
        return bool(attrs_of(value).groups == 1) or dtype == "int8"
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


def _can_move(value: relax.Expr, dtype: str, moved: set[Any]) -> bool:
    """Whether a call has a result of ``dtype``, and can have one of the other signedness."""
    if not isinstance(value.ty, relax.TensorType) or str(value.ty.dtype) != dtype:
        return False
    if _keeps_dtype(value):
        return all(operand in moved for operand in _tensors(value.args[0]))
    operator = operator_of(value)
    if operator is quantized_lookup:
        return constant_of(value.args[1]) is not None
    return operator in _RESULTS


def _flipped(table: Any, dtype: str) -> relax.Expr:
    return relax.const((table.view(np.uint8) ^ np.uint8(_FLIP)).view(dtype), dtype)
