"""Let the remaining float convolutions and products add in ONNX Runtime's order."""

from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import mutator

from legalize.passes.rewriter import CallRewriter
from legalize.qdq.group import operator_name
from legalize.qdq.windows import sizes_of
from qnn_ops import dequantize, float_conv2d, float_matmul
from qnn_ops.dialect.registry import as_const, attrs_of, constant_of, operator_of, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.unquantized.float_conv2d import ORDERS, PACKED, is_laid_out, panel_of

_LAYOUTS = {"relax.nn.conv1d": ("NCW", "OIW"), "relax.nn.conv2d": ("NCHW", "OIHW")}
"""The layouts of the convolutions that ONNX importers make."""
_MATMUL, _ADD, _RESHAPE = "relax.matmul", "relax.add", "relax.reshape"


def order_sums(mod: tvm.IRModule) -> tvm.IRModule:
    """Rewrite float32 convolutions of one axis or two, and long products of matrices.

    They become ``float_conv2d`` and ``float_matmul``. ONNX Runtime packs constant weights, so
    expressions of constants that compute weights are evaluated here.
    """
    return _Writer(mod).rewrite_module(mod)


@mutator
class _Writer(CallRewriter):
    operators = (*_LAYOUTS, _MATMUL, _ADD)

    def __init__(self, mod: tvm.IRModule) -> None:
        super().__init__(mod)
        self.parts: dict[Any, list[relax.Expr]] = {}

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a call."""
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        name = operator_name(rebuilt)
        if name not in self.operators or spec_of(rebuilt).dtype != "float32":
            return rebuilt
        if name == _ADD:
            result = self._biased(call, rebuilt)
        elif name == _MATMUL:
            result = self._multiplied(rebuilt)
        else:
            attrs = rebuilt.attrs
            layouts = str(attrs.data_layout), str(attrs.kernel_layout)
            result = self._ordered(rebuilt) if layouts == _LAYOUTS[name] else rebuilt
        return self.builder_.normalize(result)

    def _multiplied(self, call: relax.Call) -> relax.Expr:
        """Write a product of matrices with long sums. The second matrix need not be constant."""
        lhs, rhs = call.args
        (*outer, depth), shape = spec_of(lhs).shape, spec_of(rhs).shape
        if not outer or len(shape) < 2:
            return call
        array = self._matrix(rhs) if len(shape) == 2 else None
        if array is None:
            rows, columns = outer[-1], shape[-1]
            is_matrix = not is_open([columns]) and columns > 1 and (is_open([rows]) or rows > 1)
            is_long = is_matrix and (is_open([depth]) or depth > panel_of(columns))
            return float_matmul(lhs, rhs, ORDERS[1]) if is_long else call
        if depth <= PACKED or 0 in (*outer, *shape):
            return call
        if is_open(outer):
            parts = self._parts(lhs, array)
            total = self._total(parts)
            if len(outer) == 1:  # a bias of other products of open sizes is no part of them
                self.parts[total] = parts
            return total
        rows = self.builder_.emit(R.reshape(lhs, (1, 1, prod(outer), depth)))
        kernel = relax.const(array.reshape(1, 1, *shape))
        result = float_conv2d(rows, kernel, kernel_layout="HWIO", order=ORDERS[3])
        return R.reshape(self.builder_.emit(result), (*outer, shape[1]))

    def _parts(self, lhs: relax.Expr, matrix: Any) -> list[relax.Expr]:
        """Write the products of rows, whose number is open, by each panel of a constant matrix."""
        axis, emit = len(spec_of(lhs).shape) - 1, self.builder_.emit
        ends = [(k, min(k + PACKED, len(matrix))) for k in range(0, len(matrix), PACKED)]
        columns = (emit(R.strided_slice(lhs, [axis], [begin], [end])) for begin, end in ends)
        panels = (relax.const(matrix[begin:end]) for begin, end in ends)
        return [emit(R.matmul(*each)) for each in zip(columns, panels, strict=True)]

    def _total(self, parts: list[relax.Expr]) -> relax.Expr:
        """Add up parts from the first one on."""
        total = parts[0]
        for part in parts[1:]:
            total = self.builder_.emit(R.add(total, part))
        return total

    def _biased(self, original: relax.Call, call: relax.Call) -> relax.Expr:
        """Make a bias a part of the product that it is added to, if the sum is the only reader."""
        for place, operand in enumerate(call.args):
            bias, made = constant_of(call.args[1 - place]), self.value_of(operand)
            if bias is None or self.facts.uses[original.args[place]] > 1:
                continue
            shape = spec_of(operand).shape
            # ONNX Runtime takes a bias of two axes only if the product has two.
            has_axes = bias.ndim == 1 or bias.ndim == len(shape) == 2
            if not (has_axes and shape[-1:] == bias.shape[-1:] == (bias.size,)):
                continue
            if (parts := self.parts.get(made)) is not None:
                return self._total([relax.const(bias), *parts])
            if operator_name(made) != _RESHAPE:
                continue
            product = self.value_of(made.args[0])
            is_product = operator_of(product) is float_conv2d and len(product.args) == 2
            if is_product and attrs_of(product).order == ORDERS[3]:
                operands = [*product.args, relax.const(bias.reshape(-1))]
                whole = self.builder_.emit(relax.Call(product.op, operands, product.attrs))
                return R.reshape(whole, spec_of(call).shape)
        return call

    def _matrix(self, value: relax.Expr) -> Any:
        """Return a constant matrix, perhaps a transposed one; None if it is not constant."""
        array = constant_of(value)
        made = self.value_of(value)
        if array is None and operator_name(made) == "relax.permute_dims":
            source = constant_of(made.args[0])
            array = None if source is None else np.ascontiguousarray(source.T)
        return array

    def _ordered(self, call: relax.Call) -> relax.Expr:
        data, kernel = call.args
        groups, is_row = int(call.attrs.groups), len(spec_of(call).shape) == 3
        units, inputs, *_ = spec_of(kernel).shape
        is_constant = constant_of(kernel) is not None
        blocked = is_constant and not is_row and is_laid_out(groups, inputs, units)
        names = ("strides", "dilation")
        window: dict[str, Any] = {name: sizes_of(call.attrs, name) for name in names}
        padding = sizes_of(call.attrs, "padding")
        kernel = kernel if is_constant else self._computed(kernel)
        if is_row:
            data, kernel = self._image(data), self._image(kernel)
            window = {name: [1, *sizes] for name, sizes in window.items()}
            padding = [0, padding[0], 0, padding[1]]
        result = float_conv2d(
            data,
            kernel,
            **window,
            padding=padding,
            groups=groups,
            data_layout="NCHW",
            kernel_layout="OIHW",
            order=ORDERS[2] if blocked else ORDERS[1],
        )
        return R.reshape(self.builder_.emit(result), call.ty.shape) if is_row else result

    def _image(self, row: relax.Expr) -> relax.Expr:
        """Return the rows of channels as images of one row."""
        *outer, size = spec_of(row).shape
        array, shape = constant_of(row), (*outer, 1, size)
        if array is not None:
            return as_const(array.reshape(shape))
        return self.builder_.emit(R.reshape(row, shape))

    def _computed(self, kernel: relax.Expr) -> relax.Expr:
        """Return dequantized constants as a constant; return anything else unchanged."""
        value = self.value_of(kernel)
        if operator_of(value) is not dequantize:
            return kernel
        arrays = [constant_of(each) for each in value.args]
        if any(each is None for each in arrays):
            return kernel
        return relax.const(dequantize.apply(attrs_of(value), *arrays), "float32")
