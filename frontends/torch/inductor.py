"""Computes programs of X86InductorQuantizer, with uint8 activations, in oneDNN's arithmetic.

A convolution or a dense layer gives integer sums, and the rest is float32: the sums times the
product of both scales, plus the bias, which stays float. If at most a bound stands between this and
the quantize, Inductor makes one operator of all, and adds the zero point before it rounds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.torch.call import Call, Rule
from frontends.torch.parts import CLAMPING
from frontends.torch.reader import calls_of, is_call, operator_of, values_of
from qnn_ops import quantize, quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arithmetic.xnnpack import XNNPACK, reciprocal
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range

UINT8 = "torch.uint8"

QUANTIZE, DEQUANTIZE = "quantize_per_tensor.default", "dequantize_per_tensor.default"
CHANNELS = "dequantize_per_channel.default"
_CONV, _LINEAR = "conv2d.default", "linear.default"
_OTHERS = (
    *("conv1d.default", "conv1d.padding", "conv2d.padding", "conv3d.default"),
    *("conv_transpose1d.default", "conv_transpose2d.input", "matmul.default"),
)
"""Products that oneDNN may compute in integers, too."""


def is_of_inductor(program: Any) -> bool:
    """Tell whether a program's activations are uint8, as X86InductorQuantizer makes them."""
    return any(
        str(value) == UINT8
        for node in calls_of(program)
        if operator_of(node) in (QUANTIZE, DEQUANTIZE)
        for value in values_of(node)
    )


def is_product(node: Any) -> bool:
    """Tell whether a node is a convolution or a dense layer of quantized data."""
    return is_call(node, _CONV, _LINEAR) and is_call(node.args[0], DEQUANTIZE)


def check_product(node: Any, constants: Mapping[str, Array]) -> None:
    """Check the weights of a product of uint8 data, if a node is one.

    Raises:
        UnsupportedError: oneDNN would not multiply them as integers.
    """
    if is_call(node, *_OTHERS) and is_call(node.args[0], DEQUANTIZE):
        raise UnsupportedError("of uint8 data only conv2d and linear are imported")
    if not is_product(node):
        return
    weights = node.args[1]
    if not is_call(weights, CHANNELS) or weights.args[3]:
        raise UnsupportedError("its weights must have one scale for each output channel")
    zeros = constants.get(getattr(weights.args[2], "name", ""))
    array = constants.get(getattr(weights.args[0], "name", ""))
    if array is None or array.dtype != np.int8 or zeros is None or zeros.any():
        raise UnsupportedError("its weights are no int8 constants with the zero point 0")


def _product(call: Call) -> Any:
    return _PRODUCTS[operator_of(call.node)](call) if is_product(call.node) else call.by_tvm()


def _conv2d(call: Call) -> relax.Expr:
    _, _, bias, strides, padding, dilation, groups = call.values
    sides = _pair(padding)
    window: dict[str, Any] = {
        "strides": _pair(strides),
        "padding": [*sides, *sides],
        "dilation": _pair(dilation),
        "groups": int(groups),
        "data_layout": "NCHW",
        "kernel_layout": "OIHW",
    }
    data, point, array = _operands(call)
    sums = quantized_conv2d(data, array, 1.0, point, 1.0, 0, 1.0, 0, "int32", **window)
    return _real(call, sums, bias, (-1, 1, 1))


def _linear(call: Call) -> relax.Expr:
    data, point, array = _operands(call)
    sums = quantized_dense(data, array, 1.0, point, 1.0, 0, 1.0, 0, "int32")
    return _real(call, sums, call.values[2], (-1,))


def _operands(call: Call) -> tuple[relax.Expr, int, relax.Expr]:
    """Return the bytes of the data, their zero point, and the weights."""
    bytes_, _, point = values_of(call.node.args[0])[:3]
    array = call.constants[call.node.args[1].args[0].name]
    return call.expr(bytes_), int(point), relax.const(array, "int8")


def _real(call: Call, sums: relax.Expr, bias: Any, shape: tuple[int, ...]) -> relax.Expr:
    """Return the real numbers of integer sums."""
    data, weights = call.node.args[:2]
    steps = np.float32(values_of(data)[1]) * call.constants[weights.args[1].name].astype(np.float32)
    factor = relax.const(steps.reshape(shape), "float32")
    real = call.emit(R.multiply(R.astype(call.emit(sums), "float32"), factor))
    if bias is None:
        return real
    addend = call.emit(R.reshape(call.expr(bias), shape))
    return R.add(call.emit(rounded(real)), addend)


def _quantize(call: Call) -> relax.Expr:
    """Quantize; a product's zero point is added before rounding."""
    data, scale, point, *_, dtype = call.values
    emit, name = call.emit, str(dtype).removeprefix("torch.")
    if not _is_fused(data):
        return quantize(call.expr(data), float(scale), int(point), name, arithmetic=XNNPACK)
    steps = emit(R.multiply(call.expr(data), relax.const(reciprocal(scale), "float32")))
    moved = emit(R.add(emit(rounded(steps)), relax.const(float(point), "float32")))
    return R.astype(emit(R.clip(R.round(moved), *map(float, dtype_range(name)))), name)


_PRODUCTS = {_CONV: _conv2d, _LINEAR: _linear}
INDUCTOR: dict[str, Rule] = {QUANTIZE: _quantize, **dict.fromkeys(_PRODUCTS, _product)}
"""The rules of oneDNN's operators, by the names of their nodes' operators."""


def _is_fused(node: Any) -> bool:
    """Tell whether a node is a product, or its bound, that nothing else reads."""
    while len(node.users) == 1 and is_call(node, *CLAMPING):
        node = node.args[0]
    return len(node.users) == 1 and is_product(node)


def _pair(value: Any) -> list[int]:
    sizes = [int(each) for each in value] if isinstance(value, list | tuple) else [int(value)]
    return sizes * 2 if len(sizes) == 1 else sizes
