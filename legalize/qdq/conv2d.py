"""Convolutions: QLinearConv."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvm import relax

from legalize.qdq.group import (
    TABLES,
    Group,
    LeftInFloatError,
    Operand,
    biased,
    check_weights,
    one_point,
)
from qnn_ops import quantized_conv2d
from qnn_ops.registry import constant_of, spec_of


@biased("nn.conv2d", arithmetics=tuple(TABLES))
def _conv2d(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    attrs = call.attrs
    layouts = {name: str(getattr(attrs, name)) for name in ("data_layout", "kernel_layout")}
    return convolution(
        group,
        operands_of(group, call),
        bias,
        call,
        {name: sizes_of(attrs, name) for name in ("strides", "padding", "dilation")}
        | {**layouts, "out_layout": str(attrs.out_layout)},
    )


def sizes_of(attrs: Any, name: str) -> list[int]:
    """Return an attribute that has a number for each axis."""
    return [int(size) for size in getattr(attrs, name)]


def operands_of(group: Group, call: relax.Call) -> tuple[Operand, Operand]:
    """Return data and weights, which fit each other."""
    data, weights = group.activation(call.args[0]), group.quantized(call.args[1])
    check_weights(data, weights)
    rank = len(spec_of(weights.data).shape)
    channel_axis = str(call.attrs.kernel_layout).index("O")
    if isinstance(weights.scale, list) and weights.axis % rank != channel_axis:
        raise LeftInFloatError("the weights' scales are not of output channels")
    return data, weights


def reshaped(group: Group, weights: Operand, shape: tuple[int, ...]) -> Operand:
    """Return weights, whose channels come first, in another shape."""
    array = constant_of(weights.data)
    if array is None:
        moved = group.builder.emit(relax.op.reshape(weights.data, shape))
    else:
        moved = relax.const(array.reshape(shape), str(array.dtype))
    return replace(weights, data=moved, axis=0)


def convolution(
    group: Group,
    operands: tuple[Operand, Operand],
    bias: relax.Expr | None,
    call: relax.Call,
    window: dict[str, Any],
) -> relax.Expr:
    """Convolve images.

    Args:
        group: of the convolution.
        operands: data and weights.
        bias: to be added, or None.
        call: the float convolution.
        window: attributes of ``quantized_conv2d``.
    """
    data, weights = operands
    extra: dict[str, Any] = {}
    if bias is not None:
        group.check_bias(bias, data, weights)
        channels = spec_of(weights.data).shape[str(window["kernel_layout"]).index("O")]
        extra["bias"] = relax.const(group.bias(bias, data, weights, channels), "int32")
    return quantized_conv2d(
        data.data,
        weights.data,
        **data.input,
        kernel_scale=weights.scale,
        kernel_zero_point=one_point(weights),
        **group.result(),
        groups=int(call.attrs.groups),
        **window,
        rounding="float32",
        **extra,
    )
