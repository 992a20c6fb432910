"""Calls of which the model's own framework computes something undefined, because int32 overflows.

One rule for each operator that sums or scales in int32; docs/numerics.md lists what bounds them.
Importers ask for every call that they make. A call written by hand has a meaning beyond that: sums
wrap modulo 2^32, and results of sums, products and means saturate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm import relax

from qnn_ops.accumulator_bounds import (
    Bounds,
    Weights,
    centred_bounds,
    check_activation,
    check_fixed_point,
    check_product_sums,
    check_scaled,
)
from qnn_ops.arithmetic import conv_multiplier, dense_multiplier, quantize_multiplier
from qnn_ops.attributes import dtype_range
from qnn_ops.elementwise import LEFT_SHIFT, stated_product_multiplier, sum_multipliers
from qnn_ops.errors import QnnError
from qnn_ops.layouts import permutation
from qnn_ops.quantized_add import quantized_add
from qnn_ops.quantized_concat import quantized_concat
from qnn_ops.quantized_conv2d import quantized_conv2d
from qnn_ops.quantized_dense import quantized_dense
from qnn_ops.quantized_mean import averaged, quantized_mean, stated_multiplier_of
from qnn_ops.quantized_multiply import quantized_multiply
from qnn_ops.quantized_relu import quantized_relu, relu_multiplier
from qnn_ops.quantized_softmax import quantized_softmax
from qnn_ops.quantized_subtract import quantized_subtract
from qnn_ops.registry import Attrs, Operator, attrs_of, constant_of, operator_of, spec_of
from qnn_ops.requantize import requantize

Array = npt.NDArray[Any]
Params = Mapping[str, tvm.runtime.Tensor]
_Rule = Callable[[Attrs, Sequence[relax.Expr], Params], None]
_RULES: dict[str, _Rule] = {}


def check_overflow(expr: relax.Expr, params: Params) -> None:
    """Raise if the framework's integers could overflow, for some data, where ``expr`` is computed.

    Args:
        expr: normalised; what is no call of the dialect, or of an operator that cannot overflow,
            passes.
        params: values of the variables that are constants of the model, by name.

    Raises:
        QnnError: names the operator, the channel and how far its integers go.
    """
    operator = operator_of(expr)
    if operator is None or operator.name not in _RULES:
        return
    try:
        _RULES[operator.name](attrs_of(expr), expr.args, params)
    except QnnError as error:
        raise QnnError(f"{operator.name}: {error}") from None


def _rule(*operators: Operator[Any]) -> Callable[[_Rule], _Rule]:
    def decorate(rule: _Rule) -> _Rule:
        _RULES.update({operator.name: rule for operator in operators})
        return rule

    return decorate


@_rule(quantized_conv2d)
def _conv2d(attrs: Attrs, operands: Sequence[relax.Expr], params: Params) -> None:
    kernel = spec_of(operands[1])
    channels = kernel.shape[attrs.kernel_layout.index("O")]

    def read() -> Array:
        return _known(operands[1], params).transpose(permutation(attrs.kernel_layout, "OHWI"))

    scales = (attrs.input_scale, attrs.kernel_scale, attrs.output_scale)
    multiplier = partial(conv_multiplier, *scales, kernel.dtype)
    _check_sums(attrs, operands, params, channels, read, multiplier)


@_rule(quantized_dense)
def _dense(attrs: Attrs, operands: Sequence[relax.Expr], params: Params) -> None:
    scales = (attrs.input_scale, attrs.kernel_scale, attrs.output_scale)
    _check_sums(
        attrs,
        operands,
        params,
        spec_of(operands[1]).shape[0],
        lambda: _known(operands[1], params),
        partial(dense_multiplier, *scales),
    )


def _check_sums(
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    params: Params,
    channels: int,
    read: Callable[[], Array],
    multiplier: Callable[[], Array],
) -> None:
    data, kernel = (spec_of(operand) for operand in operands[:2])
    depth = int(np.prod(kernel.shape)) // max(1, channels)
    weights = Weights(channels, depth, kernel.dtype, attrs.kernel_zero_point, read)
    bias = scaling = None
    # oneDNN's stage takes sums without the bias, and saturates in float32.
    if attrs.rounding != "onednn" and len(operands) > 2:
        bias = _known(operands[2], params)
    if attrs.rounding in ("tflite", "float64") and attrs.out_dtype != "int32":
        scaling = partial(
            check_scaled,
            real_multiplier=multiplier(),
            rounding=attrs.rounding,
            zero_point=attrs.output_zero_point,
        )
    check_product_sums(weights, centred_bounds(data.dtype, attrs.input_zero_point), bias, scaling)


@_rule(quantized_add, quantized_subtract)
def _sum(attrs: Attrs, _operands: Sequence[relax.Expr], _params: Params) -> None:
    # The operands are brought to half of the larger scale at most: 2^28 is not exceeded.
    *_, result = sum_multipliers(attrs)
    larger = max(attrs.lhs_scale, attrs.rhs_scale)
    if quantize_multiplier(result)[1] > 0:
        raise QnnError(
            f"output_scale {attrs.output_scale:.4g} is too small: TFLite defines sums of operands "
            f"of scale {larger:.4g} down to {larger / 2 ** (LEFT_SHIFT - 1):.4g}"
        )
    highest = float(np.finfo(np.float32).max) / 2**LEFT_SHIFT
    if attrs.output_scale > highest:
        raise QnnError(
            f"output_scale {attrs.output_scale:.4g} is too large: TFLite defines sums up to "
            f"{highest:.4g}"
        )


@_rule(quantized_multiply)
def _product(attrs: Attrs, operands: Sequence[relax.Expr], _params: Params) -> None:
    lhs, rhs = (spec_of(operand).dtype for operand in operands)
    products = centred_bounds(lhs, attrs.lhs_zero_point) * centred_bounds(rhs, attrs.rhs_zero_point)
    check_scaled(products, stated_product_multiplier(attrs), "tflite", attrs.output_zero_point)


@_rule(quantized_mean)
def _mean(attrs: Attrs, operands: Sequence[relax.Expr], _params: Params) -> None:
    data = spec_of(operands[0])
    _, count = averaged(attrs, data.shape)
    sums = centred_bounds(data.dtype, attrs.input_zero_point) * Bounds.of(count, count)
    check_fixed_point(sums, *stated_multiplier_of(attrs, count), attrs.output_zero_point)


@_rule(requantize)
def _requantize(attrs: Attrs, operands: Sequence[relax.Expr], _params: Params) -> None:
    dtype = spec_of(operands[0]).dtype
    # Of any int32 at all nothing is known: what leaves int32 wraps, as in LiteRT.
    if attrs.rounding != "tflite" or dtype == "int32":
        return
    low, high = dtype_range(dtype)
    points = np.asarray(attrs.input_zero_point, np.int64)
    multiplier = np.asarray(attrs.input_scale) / attrs.output_scale
    check_scaled(
        Bounds.of(low - points, high - points), multiplier, "tflite", attrs.output_zero_point
    )


@_rule(quantized_relu)
def _relu(attrs: Attrs, operands: Sequence[relax.Expr], _params: Params) -> None:
    data = centred_bounds(spec_of(operands[0]).dtype, attrs.input_zero_point)
    check_scaled(data, relu_multiplier(attrs), "tflite", attrs.output_zero_point)
    check_activation(attrs.kind, attrs.output_scale, attrs.output_zero_point)


@_rule(quantized_softmax)
def _softmax(attrs: Attrs, _operands: Sequence[relax.Expr], _params: Params) -> None:
    # The sum of exponentials, 2^19 each, is 64 bits wide here: where 512 of them would end LiteRT's
    # process, this goes on.
    if attrs.beta * attrs.input_scale * 2.0**26 <= 1:
        raise QnnError(
            f"beta * input_scale must exceed 2^-26, below which TFLite has no fixed point for it, "
            f"got {attrs.beta * attrs.input_scale:.4g}"
        )


@_rule(quantized_concat)
def _concat(attrs: Attrs, _operands: Sequence[relax.Expr], _params: Params) -> None:
    # A floating-point product, too, that becomes an int32 before it is clamped.
    for scale, zero_point in zip(attrs.input_scales, attrs.input_zero_points, strict=True):
        data = centred_bounds(attrs.out_dtype, zero_point)
        check_scaled(data, scale / attrs.output_scale, "float64", attrs.output_zero_point)


def _known(operand: relax.Expr, params: Params) -> Array:
    known = constant_of(operand)
    if known is not None:
        return known
    if not isinstance(operand, relax.Var) or operand.name not in params:
        raise QnnError("weights and bias must be constant")
    return np.asarray(params[operand.name].numpy())
