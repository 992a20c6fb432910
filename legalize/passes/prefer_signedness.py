"""Make all activations uint8, or all int8, by moving them by 128."""

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter, module_pass
from legalize.qdq.group import operator_name
from qnn_ops import (
    quantized_conv2d,
    quantized_dense,
    quantized_lookup,
    quantized_matmul,
    requantize,
)
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of, constant_of, operator_of, with_attrs
from qnn_ops.dialect.traits import OFFSETS, shifted
from qnn_ops.quantized.concat import conversion_table

_FLIP = OFFSETS["uint8"]
_MOVEMENTS = {
    f"relax.{name}"
    for name in (
        "expand_dims",
        "flatten",
        "permute_dims",
        "reshape",
        "split",
        "squeeze",
        "strided_slice",
    )
}


def PreferSignedness(dtype: str) -> tvm.transform.Pass:
    """Make 8-bit results ``dtype``, by adding or subtracting 128.

    The pass moves the data of convolutions: kernels that multiply bytes of one signedness would
    otherwise move a copy of it. In a network with convolutions it also moves results whose readers
    all take either signedness. A result of uint8 after a Relu needs no addition of a zero point,
    and both forms of a network compute the same. Zero points and bounds move along, so every real
    number and every rounding stays the same. Weights stay as they are. An average's ties keep their
    direction by its ``origin``. A concatenation's conversions, whose float32 arithmetic depends on
    the values, become tables. The model's inputs and results keep their dtype.

    Args:
        dtype: ``uint8`` or ``int8``.
    """
    other = "int8" if dtype == "uint8" else "uint8"

    @mutator
    class _PreferSignedness(CallRewriter):
        def enter(self, function: relax.Function) -> bool:
            # Maps the variable of a result to the variable of the moved result.
            self.variables: dict[relax.Var, relax.Var] = {}
            self.moved: dict[relax.Expr, relax.Var] = {}
            blocks = function.body.blocks
            # The next block may not know a variable of this one.
            bindings = list(blocks[0].bindings) if len(blocks) == 1 else []
            needed: set[Any] = set()
            for binding in reversed(bindings):
                if _multiplies(binding.value):
                    needed.add(binding.value.args[0])
                elif binding.var in needed and _keeps_dtype(binding.value):
                    needed.update(_sources(binding.value))
            wanted = needed | _welcome(function, bindings, needed) if needed else needed
            moved: set[Any] = set()
            for binding in bindings:
                if binding.var in wanted and _can_move(binding.value, other, moved):
                    moved.add(binding.var)
                    self.moved[binding.value] = binding.var
            return bool(moved)

        def visit_var_binding_(self, binding: relax.VarBinding) -> None:
            source = self.variables.get(binding.value)
            if source is not None:
                self.variables[binding.var] = self.builder_.emit(source, binding.var.name)
            super().visit_var_binding_(binding)

        def visit_tuple_getitem_(self, part: relax.TupleGetItem) -> relax.Expr:
            variable = self.moved.get(part)
            if variable is None:
                return super().visit_tuple_getitem_(part)
            moved = relax.TupleGetItem(self.variables[part.tuple_value], part.index)
            return self._moved_back(variable, moved)

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            variable = self.moved.get(call)
            rebuilt = self.visit_expr_post_order(call)
            operator = operator_of(call)
            arguments, changes = list(rebuilt.args), {}
            attrs = Attrs() if operator is None else attrs_of(call)
            for place, point in _zero_points(operator):
                if place < len(call.args) and call.args[place] in self.variables:
                    arguments[place] = self.variables[call.args[place]]
                    changes.update({} if point is None else shifted(attrs, dtype, point))
            if variable is not None:
                if isinstance(call.ty, relax.TupleType):
                    moved = relax.Call(call.op, [self._inputs(attrs, call.args[0])], call.attrs)
                    self.variables[variable] = self.builder_.emit(moved, variable.name)
                    # The tuple's parts are moved back one by one.
                    return self.builder_.normalize(rebuilt)
                if _keeps_dtype(call):
                    arguments[0] = self._inputs(attrs, call.args[0])
                elif operator is quantized_lookup:
                    arguments[1] = _flipped(constant_of(call.args[1]), dtype)
                if operator is not None and operator.traits.moved is not None:
                    changes.update(operator.traits.moved(attrs, dtype))
            result = relax.Call(rebuilt.op, arguments, rebuilt.attrs, rebuilt.ty_args)
            if changes:
                result = with_attrs(result, **changes)
            if variable is None:
                return self.builder_.normalize(result)
            return self._moved_back(variable, result)

        def _moved_back(self, variable: relax.Var, result: relax.Expr) -> relax.Expr:
            """Emit a moved result, and return one of the variable's original dtype."""
            # The new variable keeps the name, by which a profile identifies the operator.
            self.variables[variable] = self.builder_.emit(result, variable.name)
            # This serves readers of the other dtype; without readers, dead code elimination removes
            # it.
            zero_points = (_FLIP, 0) if dtype == "uint8" else (0, _FLIP)
            back = requantize(
                self.variables[variable], 1.0, zero_points[0], 1.0, zero_points[1], other
            )
            relax.expr._update_type(back, variable.ty)  # the type is known
            return back

        def _inputs(self, attrs: Attrs, operand: relax.Expr) -> relax.Expr:
            """Return the moved tensor, or tensors, in place of an operand."""
            if not isinstance(operand, relax.Tuple):
                return self.variables[operand]
            fields = []
            for index, field in enumerate(operand.fields):
                moved = self.variables[field]
                table = None if is_onnxruntime(attrs) else conversion_table(attrs, index)
                if table is not None:
                    moved = self.builder_.emit(quantized_lookup(moved, _flipped(table, dtype)))
                fields.append(moved)
            return relax.Tuple(fields)

    return module_pass(_PreferSignedness, "PreferSignedness")


def _multiplies(value: relax.Expr) -> bool:
    """Tell whether kernels multiply the bytes of a call's first operand."""
    return operator_of(value) in (quantized_conv2d, quantized_dense, quantized_matmul)


def _welcome(function: relax.Function, bindings: list[relax.Binding], needed: set[Any]) -> set[Any]:
    """Return the results whose readers all take either signedness."""
    welcome: set[Any] = set()
    read: set[Any] = set()
    # A result's readers come after it, so each is known before its operands are visited.
    unwelcome: set[Any] = set(relax.analysis.free_vars(function.body.body))
    for binding in reversed(bindings):
        variable, value = binding.var, binding.value
        if variable in read and variable not in unwelcome:
            welcome.add(variable)
        taken: set[Any] = set()
        if _keeps_dtype(value):
            if variable in welcome or variable in needed:
                taken.update(_sources(value))
        elif (operator := operator_of(value)) is not None:
            places = [place for place, _ in _zero_points(operator) if place < len(value.args)]
            taken.update(value.args[place] for place in places)
        operands = set(relax.analysis.free_vars(value))
        read |= operands
        unwelcome |= operands - taken
    return welcome


def _keeps_dtype(value: relax.Expr) -> bool:
    """Tell whether an expression returns an operand's values unchanged, or a selection of them."""
    if isinstance(value, (relax.Var, relax.TupleGetItem)):
        return True
    operator = operator_of(value)
    if operator is not None:
        keeps = operator.traits.keeps
        return keeps is not None and keeps(attrs_of(value))
    return operator_name(value) in _MOVEMENTS


def _zero_points(operator: Operator[Any] | None) -> list[tuple[int, str | None]]:
    """Return the indices of operands that may be moved, and the attributes that move along."""
    if operator is None:
        return []
    points = operator.traits.zero_points.items()
    return [(operator.tensors.index(name), point) for name, point in points]


def _sources(value: relax.Expr) -> list[relax.Expr]:
    """Return the tensors, or the tuple of tensors, whose values an expression returns."""
    if isinstance(value, relax.Var):
        return [value]
    if isinstance(value, relax.TupleGetItem):
        return [value.tuple_value]
    operand = value.args[0]
    return list(operand.fields) if isinstance(operand, relax.Tuple) else [operand]


def _can_move(value: relax.Expr, dtype: str, moved: set[Any]) -> bool:
    """Tell whether a result is of ``dtype``, and can be of the other signedness."""
    results = value.ty.fields if isinstance(value.ty, relax.TupleType) else [value.ty]
    if not all(isinstance(ty, relax.TensorType) and str(ty.dtype) == dtype for ty in results):
        return False
    if _keeps_dtype(value):
        return all(operand in moved for operand in _sources(value))
    operator = operator_of(value)
    if operator is quantized_lookup:
        return constant_of(value.args[1]) is not None
    if operator is None or operator.traits.keeps is not None:
        return False
    return operator.traits.moved is not None


def _flipped(table: Any, dtype: str) -> relax.Expr:
    return relax.const((table.view(np.uint8) ^ np.uint8(_FLIP)).view(dtype), dtype)
