"""``relay.qnn.op``, and since TVM 0.15 ``relay.qnn``: Relay's signatures of quantized operators.

The functions take Relay's arguments: scales and zero points as numbers, constants of
``relay.const`` or expressions. They compute the same as Relay (``tvm_qnn.relay.qnn.canonical``),
with the dialect's operators where these give the same numbers. Softmax is the dialect's: it is
closer to real numbers than Relay's.
"""

import sys
import typing as _typing
from collections.abc import Sequence
from typing import Any

from tvm import relax

import qnn_ops
from qnn_ops.dialect import declared
from qnn_ops.errors import QnnError
from tvm_qnn.relay import nn
from tvm_qnn.relay import op as plain
from tvm_qnn.relay.expr import computed, free_vars, is_known, number, spec, typed
from tvm_qnn.relay.expr import offer as _offer
from tvm_qnn.relay.qnn import canonical
from tvm_qnn.relay.qnn.canonical import *  # noqa: F403 (these modules list what they give)
from tvm_qnn.relay.qnn.op import elementwise
from tvm_qnn.relay.qnn.op.elementwise import *  # noqa: F403

if not _typing.TYPE_CHECKING:  # which take all public names
    __all__ = [*canonical.__all__, *elementwise.__all__]


@_offer
def conv2d(
    data: relax.Expr,
    kernel: relax.Expr,
    input_zero_point: Any,
    kernel_zero_point: Any,
    input_scale: Any,
    kernel_scale: Any,
    kernel_size: declared.OptionalSize,
    channels: declared.OptionalInt,
    strides: declared.Strides = (1, 1),
    padding: declared.Padding = (0, 0),
    dilation: declared.Dilation = (1, 1),
    groups: declared.Int = 1,
    data_layout: declared.Layout = "NCHW",
    kernel_layout: declared.KernelLayout = "OIHW",
    out_layout: declared.OutLayout = "",
    out_dtype: declared.Text = "int32",
) -> relax.Call:
    """Return the integer sums of a quantized convolution; see ``qnn_ops.quantized_conv2d``."""
    if out_dtype != "int32":
        raise QnnError(f"conv2d: out_dtype is int32, got {out_dtype!r}")
    window = (strides, padding, dilation, groups, channels, kernel_size)
    layouts = (data_layout, kernel_layout, out_layout)
    if not is_known(input_zero_point, kernel_zero_point, input_scale, kernel_scale):
        centred = canonical.centred(data, input_zero_point)
        weights = canonical.centred(kernel, kernel_zero_point, kernel_layout.index("O"))
        return nn.conv2d(centred, weights, *window, *layouts, out_dtype)
    kernel = nn.depthwise_kernel(data, kernel, groups, data_layout, kernel_layout)
    outputs = spec("conv2d: kernel", kernel).shape[kernel_layout.index("O")]
    have = number("input scale", input_scale), number("input zero point", input_zero_point)
    scales = _of_outputs(number("kernel scale", kernel_scale), groups, outputs)
    points = _of_outputs(number("kernel zero point", kernel_zero_point), groups, outputs)
    quantization = (*have, scales, points, 1.0, 0)
    sums = qnn_ops.quantized_conv2d(data, kernel, *quantization, out_dtype, *window, *layouts)
    return typed(sums)


def _of_outputs(values: Any, groups: int, outputs: int) -> Any:
    """Repeat the value of each channel of a depthwise kernel for all outputs of the channel."""
    if groups == 1 or not isinstance(values, list) or len(values) != groups:
        return values
    return [value for value in values for _ in range(outputs // len(values))]


@_offer
def dense(
    data: relax.Expr,
    weight: relax.Expr,
    input_zero_point: Any,
    kernel_zero_point: Any,
    input_scale: Any,
    kernel_scale: Any,
    units: declared.OptionalInt = None,
    out_dtype: declared.Text = "int32",
) -> relax.Call:
    """Return the integer sums of a quantized dense layer; see ``qnn_ops.quantized_dense``."""
    if out_dtype != "int32":
        raise QnnError(f"dense: out_dtype is int32, got {out_dtype!r}")
    if not is_known(input_zero_point, kernel_zero_point, input_scale, kernel_scale):
        rows = canonical.centred(data, input_zero_point)
        return nn.dense(rows, canonical.centred(weight, kernel_zero_point), units, out_dtype)
    have = number("input scale", input_scale), number("input zero point", input_zero_point)
    of_kernel = number("kernel scale", kernel_scale), number("kernel zero point", kernel_zero_point)
    quantization = (*have, *of_kernel, 1.0, 0)
    return typed(qnn_ops.quantized_dense(data, weight, *quantization, out_dtype, units))


@_offer
def contrib_dense_pack(
    data: relax.Expr,
    weight: relax.Expr,
    input_zero_point: Any,
    kernel_zero_point: Any,
    input_scale: Any,
    kernel_scale: Any,
    kernel_layout: str = "NC",
    units: int | None = None,
    out_dtype: str = "int32",
) -> relax.Call:
    """Return the sums of ``dense`` with weights in blocks: (units / 8, features, 8) for "NC8n"."""
    weight = plain.layout_transform(weight, kernel_layout, "NC")
    weight = weight if free_vars(weight) else computed(weight)
    quantization = (input_zero_point, kernel_zero_point, input_scale, kernel_scale)
    return dense(data, weight, *quantization, units, out_dtype)


@_offer
def conv2d_transpose(
    data: relax.Expr,
    weight: relax.Expr,
    input_zero_point: Any,
    kernel_zero_point: Any,
    input_scale: Any,
    kernel_scale: Any,
    strides: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    groups: int = 1,
    channels: int | None = None,
    kernel_size: int | Sequence[int] | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: int | Sequence[int] = (0, 0),
    out_dtype: str = "int32",
) -> relax.Call:
    """Return the integer sums of a transposed convolution of quantized data."""
    del input_scale, kernel_scale  # the sums' scale is their product
    return nn.conv2d_transpose(
        canonical.centred(data, input_zero_point),
        canonical.centred(weight, kernel_zero_point, kernel_layout.index("O")),
        *(strides, padding, dilation, channels, kernel_size, groups),
        *(data_layout, kernel_layout, out_layout, output_padding, out_dtype),
    )


@_offer
def batch_matmul(
    x: relax.Expr,
    y: relax.Expr,
    x_zero_point: Any,
    y_zero_point: Any,
    x_scale: Any,
    y_scale: Any,
    out_dtype: str = "int32",
) -> relax.Call:
    """Return the integer products of matrices: x of (batch, m, k) with y of (batch, n, k)."""
    del x_scale, y_scale  # the products' scale is their product
    operands = canonical.centred(x, x_zero_point), canonical.centred(y, y_zero_point)
    return nn.batch_matmul(*operands, out_dtype)


@_offer
def concatenate(
    data: Sequence[relax.Expr] | relax.Expr,
    input_scales: Sequence[Any],
    input_zero_points: Sequence[Any],
    output_scale: Any,
    output_zero_point: Any,
    axis: int = 0,
) -> relax.Call:
    """Join quantized tensors after rescaling each to the result's scale.

    ``data`` is a list, a tuple of ``relay.Tuple``, or a call that returns one, such as ``split``.
    """
    fields = plain.fields_of(data)
    if not len(fields) == len(input_scales) == len(input_zero_points):
        counts = f"{len(fields)}, {len(input_scales)} and {len(input_zero_points)}"
        raise QnnError(f"concatenate: got {counts} tensors, scales and zero points")
    parts = [
        canonical.rescaled(
            field, scale, point, output_scale, output_zero_point, spec("data", field).dtype
        )
        for field, scale, point in zip(fields, input_scales, input_zero_points, strict=True)
    ]
    dtypes = {spec("concatenate: data", part).dtype for part in parts}
    if len(dtypes) != 1:
        raise QnnError(f"concatenate: data must be of one dtype, got {sorted(dtypes)}")
    return plain.concatenate(parts, axis)


@_offer
def avg_pool2d(
    data: relax.Expr,
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NHWC",
    out_layout: str = "",
) -> relax.Call:
    """Return averages of windows at the result's scale; they are truncated, as Relay's."""
    quantization = (input_scale, input_zero_point, output_scale, output_zero_point)
    values = canonical.rescaled(data, *quantization, "int32")
    window = (pool_size, strides, dilation, padding, layout, out_layout)
    pooled = nn.avg_pool2d(values, *window, ceil_mode, count_include_pad)
    return canonical.narrowed(pooled, spec("avg_pool2d: data", data).dtype)


@_offer
def softmax(
    x: relax.Expr,
    scale: Any,
    zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    axis: declared.Int = -1,
) -> relax.Call:
    """Compute probabilities of quantized logits; see ``qnn_ops.quantized_softmax``."""
    have = number("scale", scale), number("zero point", zero_point)
    want = number("output scale", output_scale), number("output zero point", output_zero_point)
    dtype = spec("softmax: x", x).dtype
    return typed(qnn_ops.quantized_softmax(x, *have, *want, dtype, axis=axis))


qnn = sys.modules[__name__]
"""Scripts find the operators here, too."""
