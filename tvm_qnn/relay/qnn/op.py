"""``relay.qnn.op``: Relay's spelling of the quantized operators.

The functions take the arguments that Relay's took, scales and zero points as numbers or as
constants of ``relay.const``, and make calls of the dialect. What they compute is the dialect's
arithmetic, which follows TFLite: ``add``, ``subtract`` and ``mul`` round as TFLite's operators do,
where Relay first brought both operands to the output's scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

import qnn_ops
from qnn_ops import tables
from qnn_ops.errors import QnnError
from qnn_ops.registry import Operator
from tvm_qnn.relay.expr import const, number, spec, typed

_ROUNDINGS = {"None": "upward", "UPWARD": "upward", "TONEAREST": "tflite"}

Table = Callable[[float, int, float, int, str], "np.ndarray[Any, Any]"]


def quantize(
    data: relax.Expr,
    output_scale: Any,
    output_zero_point: Any,
    axis: int = -1,
    out_dtype: str = "int8",
) -> relax.Call:
    """Quantize float32 data; see ``qnn_ops.quantize``."""
    scale, zero_point = number("scale", output_scale), number("zero point", output_zero_point)
    return typed(qnn_ops.quantize(data, scale, zero_point, out_dtype, axis))


def dequantize(
    data: relax.Expr,
    input_scale: Any,
    input_zero_point: Any,
    axis: int = -1,
    out_dtype: str = "float32",
) -> relax.Call:
    """Return the real numbers that quantized data stands for; see ``qnn_ops.dequantize``."""
    scale, zero_point = number("scale", input_scale), number("zero point", input_zero_point)
    return typed(qnn_ops.dequantize(data, scale, zero_point, out_dtype, axis))


def requantize(
    data: relax.Expr,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    out_dtype: str = "int8",
) -> relax.Call:
    """Express quantized values in another scale; see ``qnn_ops.requantize``.

    Args:
        data: int8, uint8 or int32.
        input_scale: of the data, one or one per channel along ``axis``.
        input_zero_point: the data's.
        output_scale: of the result.
        output_zero_point: of the result.
        axis: of the channels.
        rounding: "UPWARD" (also "None"): one rounding, ties up, as Relay's. "TONEAREST": ties
            away from zero, in TFLite's two roundings.
        compute_dtype: "int64", or "None" for that.
        out_dtype: of the result.

    Raises:
        QnnError: if something does not fit, or ``rounding`` or ``compute_dtype`` is another one.
    """
    if rounding not in _ROUNDINGS:
        raise QnnError(f"requantize: rounding is one of {', '.join(_ROUNDINGS)}, got {rounding!r}")
    if compute_dtype not in ("None", "int64"):
        raise QnnError(f"requantize: compute_dtype is int64, got {compute_dtype!r}")
    call = qnn_ops.requantize(
        data,
        number("input scale", input_scale),
        number("input zero point", input_zero_point),
        number("output scale", output_scale),
        number("output zero point", output_zero_point),
        out_dtype,
        axis=axis,
        rounding=_ROUNDINGS[rounding],
    )
    return typed(call)


def conv2d(
    data: relax.Expr,
    kernel: relax.Expr,
    input_zero_point: Any,
    kernel_zero_point: Any,
    input_scale: Any,
    kernel_scale: Any,
    kernel_size: int | Sequence[int] | None,
    channels: int | None,
    strides: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "int32",
) -> relax.Call:
    """Return the integer sums of a quantized convolution; see ``qnn_ops.quantized_conv2d``."""
    if out_dtype != "int32":
        raise QnnError(f"conv2d: out_dtype is int32, got {out_dtype!r}")
    call = qnn_ops.quantized_conv2d(
        data,
        kernel,
        number("input scale", input_scale),
        number("input zero point", input_zero_point),
        number("kernel scale", kernel_scale),
        number("kernel zero point", kernel_zero_point),
        output_scale=1.0,
        output_zero_point=0,
        out_dtype=out_dtype,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        channels=channels,
        kernel_size=kernel_size,
        data_layout=data_layout,
        kernel_layout=kernel_layout,
        out_layout=out_layout,
    )
    return typed(call)


def dense(
    data: relax.Expr,
    weight: relax.Expr,
    input_zero_point: Any,
    kernel_zero_point: Any,
    input_scale: Any,
    kernel_scale: Any,
    units: int | None = None,
    out_dtype: str = "int32",
) -> relax.Call:
    """Return the integer sums of a quantized dense layer; see ``qnn_ops.quantized_dense``."""
    if out_dtype != "int32":
        raise QnnError(f"dense: out_dtype is int32, got {out_dtype!r}")
    call = qnn_ops.quantized_dense(
        data,
        weight,
        number("input scale", input_scale),
        number("input zero point", input_zero_point),
        number("kernel scale", kernel_scale),
        number("kernel zero point", kernel_zero_point),
        output_scale=1.0,
        output_zero_point=0,
        out_dtype=out_dtype,
        units=units,
    )
    return typed(call)


def add(lhs: relax.Expr, rhs: relax.Expr, *quantization: Any, **named: Any) -> relax.Call:
    """Add quantized tensors; see ``qnn_ops.quantized_add``.

    Args:
        lhs: int8 or uint8.
        rhs: of the same dtype; shapes broadcast.
        *quantization: scale and zero point of ``lhs``, of ``rhs`` and of the result, in turn.
        **named: or by name: lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale,
            output_zero_point.
    """
    return _binary(qnn_ops.quantized_add, lhs, rhs, quantization, named)


def subtract(lhs: relax.Expr, rhs: relax.Expr, *quantization: Any, **named: Any) -> relax.Call:
    """Subtract quantized tensors; see ``qnn_ops.quantized_subtract``, arguments as ``add``."""
    return _binary(qnn_ops.quantized_subtract, lhs, rhs, quantization, named)


def mul(lhs: relax.Expr, rhs: relax.Expr, *quantization: Any, **named: Any) -> relax.Call:
    """Multiply quantized tensors; see ``qnn_ops.quantized_multiply``, arguments as ``add``."""
    return _binary(qnn_ops.quantized_multiply, lhs, rhs, quantization, named)


def concatenate(
    data: Sequence[relax.Expr] | relax.Tuple,
    input_scales: Sequence[Any],
    input_zero_points: Sequence[Any],
    output_scale: Any,
    output_zero_point: Any,
    axis: int = 0,
) -> relax.Call:
    """Join quantized tensors; see ``qnn_ops.quantized_concat``."""
    fields = list(data.fields) if isinstance(data, relax.Tuple) else list(data)
    dtypes = {spec("concatenate: data", field).dtype for field in fields}
    if len(dtypes) != 1:
        raise QnnError(f"concatenate: data must be of one dtype, got {sorted(dtypes)}")
    call = qnn_ops.quantized_concat(
        fields,
        [number("input scale", scale) for scale in input_scales],
        [number("input zero point", point) for point in input_zero_points],
        number("output scale", output_scale),
        number("output zero point", output_zero_point),
        dtypes.pop(),
        axis=axis,
    )
    return typed(call)


def _unary_operator(name: str, table: Table, what: str) -> Callable[..., relax.Call]:
    def operator(
        x: relax.Expr, scale: Any, zero_point: Any, output_scale: Any, output_zero_point: Any
    ) -> relax.Call:
        return _unary(table, x, scale, zero_point, output_scale, output_zero_point)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"{what} of int8 or uint8 values, by a table; see ``qnn_ops.tables``."
    return operator


def _of_real(function: Callable[[Any], Any]) -> Table:
    def table(*quantization: Any) -> np.ndarray[Any, Any]:
        return tables.unary_table(function, *quantization)

    return table


sigmoid = _unary_operator("sigmoid", tables.logistic_table, "1 / (1 + exp(-x))")
tanh = _unary_operator("tanh", tables.tanh_table, "The hyperbolic tangent")
hardswish = _unary_operator("hardswish", tables.hard_swish_table, "x · relu6(x + 3) / 6")
exp = _unary_operator("exp", _of_real(np.exp), "The exponential")
log = _unary_operator("log", _of_real(np.log), "The natural logarithm")
sqrt = _unary_operator("sqrt", _of_real(np.sqrt), "The square root")
rsqrt = _unary_operator("rsqrt", _of_real(lambda x: 1 / np.sqrt(x)), "The inverse square root")


def leaky_relu(
    x: relax.Expr,
    alpha: float,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
) -> relax.Call:
    """Compute x, or alpha · x where x is negative, of quantized values, by TFLite's table."""

    def table(*quantization: Any) -> np.ndarray[Any, Any]:
        return tables.leaky_relu_table(alpha, *quantization)

    return _unary(table, x, input_scale, input_zero_point, output_scale, output_zero_point)


def softmax(
    x: relax.Expr,
    scale: Any,
    zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    axis: int = -1,
) -> relax.Call:
    """Compute probabilities of quantized logits; see ``qnn_ops.quantized_softmax``."""
    call = qnn_ops.quantized_softmax(
        x,
        number("scale", scale),
        number("zero point", zero_point),
        number("output scale", output_scale),
        number("output zero point", output_zero_point),
        spec("softmax: x", x).dtype,
        axis=axis,
    )
    return typed(call)


_BINARY = (
    *("lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point"),
    *("output_scale", "output_zero_point"),
)


def _binary(
    operator: Operator[Any],
    lhs: relax.Expr,
    rhs: relax.Expr,
    quantization: Sequence[Any],
    named: dict[str, Any],
) -> relax.Call:
    name = operator.name
    if len(quantization) > len(_BINARY):
        raise QnnError(f"{name}: per-channel operands (lhs_axis, rhs_axis) are not supported")
    given = dict(zip(_BINARY, quantization, strict=False))
    for axis in ("lhs_axis", "rhs_axis"):  # means nothing without one scale per channel
        named.pop(axis, None)
    if wrong := [key for key in named if key not in _BINARY or key in given]:
        raise QnnError(f"{name}: unknown or doubled argument {', '.join(wrong)}")
    given |= named
    if missing := [key for key in _BINARY if key not in given]:
        raise QnnError(f"{name}: missing {', '.join(missing)}")
    attrs = {key: number(key, value) for key, value in given.items()}
    return typed(operator(lhs, rhs, **attrs, out_dtype=spec(f"{name}: lhs", lhs).dtype))


def _unary(
    table: Table,
    x: relax.Expr,
    scale: Any,
    zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
) -> relax.Call:
    entries = table(
        number("scale", scale),
        number("zero point", zero_point),
        number("output scale", output_scale),
        number("output zero point", output_zero_point),
        spec("x", x).dtype,
    )
    return typed(qnn_ops.quantized_lookup(x, const(entries)))
