"""Let what is left of float convolutions add up as ONNX Runtime does."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.qdq.conv2d import sizes_of
from legalize.qdq.group import operator_name
from qnn_ops import dequantize, float_conv2d
from qnn_ops.float_conv2d import ORDERS, is_laid_out
from qnn_ops.registry import attrs_of, constant_of, operator_of, spec_of

_LAYOUTS = {"relax.nn.conv1d": ("NCW", "OIW"), "relax.nn.conv2d": ("NCHW", "OIHW")}
"""Of the convolutions that importers of ONNX make."""


def order_convolutions(mod: tvm.IRModule) -> tvm.IRModule:
    """Write convolutions of float32, of one axis or two, as ``float_conv2d``.

    ONNX Runtime lays out weights that are constants; what makes others of constants is computed
    here.
    """
    writer = _Writer(mod)
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            writer.builder_.update_func(variable, writer.visit_expr(function))
    return relax.transform.DeadCodeElimination()(writer.builder_.finalize())


@mutator
class _Writer(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a call."""
        rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
        layouts = _LAYOUTS.get(operator_name(rebuilt))
        if layouts is None or spec_of(rebuilt).dtype != "float32":
            return rebuilt
        attrs = rebuilt.attrs
        if (str(attrs.data_layout), str(attrs.kernel_layout)) != layouts:
            return rebuilt
        return self.builder_.normalize(self._ordered(rebuilt))

    def _ordered(self, call: relax.Call) -> relax.Expr:
        data, kernel = call.args
        groups, is_row = int(call.attrs.groups), len(spec_of(call).shape) == 3
        units, inputs, *_ = spec_of(kernel).shape
        is_constant = constant_of(kernel) is not None
        blocked = is_constant and not is_row and is_laid_out(groups, inputs, units)
        window = {name: sizes_of(call.attrs, name) for name in ("strides", "dilation")}
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
            return relax.const(array.reshape(shape), str(array.dtype))
        return self.builder_.emit(R.reshape(row, shape))

    def _computed(self, kernel: relax.Expr) -> relax.Expr:
        """Return dequantized constants as a constant; anything else as it is."""
        value: Any = kernel
        if isinstance(kernel, relax.Var):
            value = self.builder_.lookup_binding(kernel)
        if value is None or operator_of(value) is not dequantize:
            return kernel
        arrays = [constant_of(each) for each in value.args]
        if any(each is None for each in arrays):
            return kernel
        return relax.const(dequantize.apply(attrs_of(value), *arrays), "float32")
