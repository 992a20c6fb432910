"""Give images the axis order that kernels take: rows, columns, then channels."""

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import mutator

from legalize.passes.channels_last_rules import (
    TO_FIRST,
    TO_LAST,
    attribute,
    layouts_of,
    rule_of,
    static_shape,
)
from legalize.passes.rewriter import CallRewriter, module_pass
from legalize.qdq.group import operator_name
from qnn_ops import quantized_conv2d
from qnn_ops.dialect.registry import as_const, constant_of, operator_of

_PERMUTE = "relax.permute_dims"


@mutator
class _ChannelsLast(CallRewriter):
    def enter(self, function: relax.Function) -> bool:
        bindings = [
            (number, binding)
            for number, block in enumerate(function.body.blocks)
            for binding in block.bindings
            if isinstance(binding, relax.VarBinding)
        ]
        self.bound: dict[relax.Expr, tuple[int, Any]] = {}
        if any(_is_channels_first(binding.value) for _, binding in bindings):
            self.bound = {binding.value: (number, binding.var) for number, binding in bindings}
        self.block = 0
        # Maps the variable of an image with its channels first to the image with its channels last.
        self.images: dict[relax.Expr, relax.Expr] = {}
        return bool(self.bound)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        # No variable changes its type, so each stays the same object.
        rebuilt = self.visit_expr_post_order(call)
        if call not in self.bound:
            return rebuilt
        block, variable = self.bound[call]
        if block != self.block:
            # The next block may not know a variable of this one.
            self.block, self.images = block, {}
        if operator_name(call) == _PERMUTE:
            return self._permuted(rebuilt, variable)
        rule = rule_of(call)
        if rule is None or not self._is_worth_it(rebuilt):
            return rebuilt
        result = rule(rebuilt, self._last)
        if result is None:
            return rebuilt
        if not _is_moved(call, variable):
            return result
        # The new variable keeps the name, by which a profile identifies the operator.
        self.images[variable] = self.builder_.emit(result, variable.name)
        # This serves readers of channels first; without readers, dead code elimination removes it.
        return _moved(self.images[variable], TO_FIRST)

    def _permuted(self, call: relax.Call, variable: Any) -> relax.Expr:
        """Return a transpose, written from the image with its channels last if there is one."""
        data = call.args[0]
        axes = tuple(map(int, call.attrs.axes or ()))
        if axes == TO_FIRST:
            self.images[variable] = data
        if data not in self.images or not axes:
            return call
        axes = tuple(TO_FIRST[axis] for axis in axes)
        image = self.images[data]
        return image if axes == tuple(sorted(axes)) else R.permute_dims(image, axes)

    def _is_worth_it(self, call: relax.Call) -> bool:
        """Tell whether an operand has its channels last, or the call is faster in that order."""
        operands = list(call.args)
        if operands and isinstance(operands[0], relax.Tuple):
            operands[:1] = operands[0].fields
        tensors = [operand for operand in operands if isinstance(operand.ty, relax.TensorType)]
        shapes = [static_shape(tensor) for tensor in tensors]
        if any(shape is None or len(shape) > len(TO_LAST) for shape in shapes):
            return False
        return _is_channels_first(call) or any(tensor in self.images for tensor in tensors)

    def _last(self, operand: relax.Expr) -> relax.Expr:
        """Return an operand with its channels last, or unchanged if it is no tensor."""
        if isinstance(operand, relax.Tuple):
            return relax.Tuple([self._last(field) for field in operand.fields])
        if not isinstance(operand.ty, relax.TensorType):
            return operand
        shape = static_shape(operand)
        assert shape is not None
        if not shape:
            return operand
        of_image = (1,) * (len(TO_LAST) - len(shape)) + shape
        array = constant_of(operand)
        if array is not None:
            image = np.ascontiguousarray(array.reshape(of_image).transpose(TO_LAST))
            return as_const(image)
        if operand not in self.images:
            image = (
                operand if of_image == shape else self.builder_.emit(R.reshape(operand, of_image))
            )
            self.images[operand] = self.builder_.emit(_moved(image, TO_LAST))
        return self.images[operand]


def ChannelsLast() -> tvm.transform.Pass:
    """Rewrite images of layout NCHW to NHWC, the layout of kernels.

    Convolutions, poolings and resizes start it. The operators after them (elementwise operators,
    sums, concatenations, pads, means, ...) also become channels last, so that a model is transposed
    only at its edges. Transposes of the model that undo each other vanish. Every number stays the
    same. A function without such a convolution, pooling or resize is left as it is.
    """
    return module_pass(_ChannelsLast, "ChannelsLast")


def _is_channels_first(value: relax.Expr) -> bool:
    """Tell whether ``value`` is a call that is worth a transpose, and reads or writes NCHW."""
    if not any(attribute(value, name) == "NCHW" for name in layouts_of(value)):
        return False
    return operator_of(value) is not None or constant_of(value.args[1]) is not None


def _is_moved(call: relax.Call, variable: relax.Var) -> bool:
    """Tell whether a rule's result for ``call`` has another order of axes than ``variable``."""
    is_last = operator_of(call) is quantized_conv2d and attribute(call, "out_layout") == "NHWC"
    return len(static_shape(variable) or ()) == len(TO_LAST) and not is_last


def _moved(image: relax.Expr, axes: tuple[int, ...]) -> relax.Expr:
    """Transpose, or reshape if only axes of size 1 move, since that moves no data."""
    shape = static_shape(image)
    assert shape is not None
    long = [axis for axis in axes if shape[axis] != 1]
    if long == sorted(long):
        return R.reshape(image, [shape[axis] for axis in axes])
    return R.permute_dims(image, axes)
