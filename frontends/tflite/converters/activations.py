"""Activation functions: fused into other operators, and RELU and similar operators themselves."""

from dataclasses import replace

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.scales import zero_points
from frontends.tflite.model import Tensor
from frontends.tflite.operators import COMPUTED, OPERATORS, Row
from qnn_ops import quantized_relu, requantize
from qnn_ops.arithmetic.accumulator_bounds import check_activation
from qnn_ops.arithmetic.activations import activation_range

_CLAMPS = {"NONE": "none", "RELU": "relu", "RELU6": "relu6", "RELU_N1_TO_1": "relu_n1_to_1"}
# LiteRT's kernels ignore these activations.
_KINDS = _CLAMPS | {"TANH": "none", "SIGN_BIT": "none"}
_MOST = float(np.finfo(np.float32).max)
_FLOAT_RANGES = {
    "none": (-_MOST, _MOST),
    "relu": (0.0, _MOST),
    "relu6": (0.0, 6.0),
    "relu_n1_to_1": (-1.0, 1.0),
    "relu_0_to_1": (0.0, 1.0),
}


def clamp_range(activation: str, output: Tensor) -> tuple[int, int]:
    """Return the lowest and highest value that the activation allows in a quantized output."""
    kind, quantization = _kind(activation), per_tensor(output)
    check_activation(kind, *quantization)
    return activation_range(kind, *quantization, output.dtype)


def activate(activation: str, expr: relax.Expr) -> relax.Expr:
    """Return the activation applied to a float32 expression."""
    kind = _kind(activation)
    if kind == "none":
        return expr
    if kind == "relu":
        return R.nn.relu(expr)
    return R.clip(expr, *_FLOAT_RANGES[kind])


def float_range(activation: str) -> tuple[float, float]:
    """Return the lowest and highest float32 that the activation allows in a result."""
    return _FLOAT_RANGES[_kind(activation)]


def clamps(activation: str) -> bool:
    """Tell whether an activation clamps a result, or is refused."""
    return _KINDS.get(activation) != "none"


def bounded(activation: str, expr: relax.Expr, dtype: str) -> relax.Expr:
    """Return the activation applied to plain integers, which have no scale."""
    low, high = _FLOAT_RANGES[_kind(activation)]
    if low > -_MOST:
        expr = R.maximum(expr, relax.const(int(low), dtype))
    return R.minimum(expr, relax.const(int(high), dtype)) if high < _MOST else expr


def check_clamps(activation: str) -> None:
    """Raise unless an activation clamps or is none, as LiteRT's dense layers require."""
    if activation not in _CLAMPS:
        raise UnsupportedError(f"fused activation {activation}")


def limited(activation: str, expr: relax.Expr) -> relax.Expr:
    """Return the activation applied as in LiteRT's elementwise operators: NaN stays NaN.

    Without an activation, infinity becomes the largest finite number. This also keeps compilers
    from merging a product with the next sum, or a sum with its difference.
    """
    bounded = R.clip(expr, *_FLOAT_RANGES[_kind(activation)])
    return R.where(R.isnan(expr), expr, bounded)


def _kind(activation: str) -> str:
    if activation not in _KINDS:
        raise UnsupportedError(f"fused activation {activation}")
    return _KINDS[activation]


def convert_relu(ctx: Context) -> relax.Expr:
    """Return a clamp, and a change of scale if the output has another scale."""
    data, result = ctx.input(0), ctx.output()
    kind = ctx.operator.code.lower()
    expr, encoding, wanted = data.expr, data.quantization, per_tensor(result)
    if ctx.model.semantics == "tflm":
        # RELU's multiplier is a float64 quotient, like QUANTIZE's; RELU6 keeps the scale.
        if kind == "relu" and encoding != wanted:
            expr = ctx.emit(requantize(expr, *encoding, *wanted, result.dtype))
            encoding = wanted
        wanted = encoding
    return quantized_relu(expr, *encoding, *wanted, result.dtype, kind=kind)


def convert_float_relu(ctx: Context) -> relax.Expr:
    """Return a clamp that keeps NaN and -0.0."""
    low, high = _FLOAT_RANGES[ctx.operator.code.lower()]
    # TVM's extremes return the second of two numbers that are equal or have no order.
    expr = R.maximum(relax.const(np.float32(low)), ctx.input(0).expr)
    if high == _MOST:
        return expr
    return R.minimum(relax.const(np.float32(high)), ctx.emit(expr))


def convert_rescaling(ctx: Context) -> relax.Expr:
    """Return the result's zero point: the multiplier from scale to scale is 0."""
    return zero_points(ctx.output(), ctx.input(0).shape)


_RELU = Row(
    scaled=convert_relu, floats=convert_float_relu, unscaled=convert_rescaling, micro=COMPUTED
)
_NARROW = replace(_RELU, int16=None, micro=frozenset())
OPERATORS.update({"RELU": _RELU, "RELU6": _RELU, "RELU_0_TO_1": _NARROW, "RELU_N1_TO_1": _NARROW})
