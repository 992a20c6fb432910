"""``relay.nn``: the operators beside ``relay.qnn.op`` in hand-written quantized networks."""

from collections.abc import Sequence
from typing import Any

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay import image, op
from tvm_qnn.relay.expr import number, spec, typed

Sizes = int | Sequence[int]


def bias_add(data: relax.Expr, bias: relax.Expr, axis: int = 1) -> relax.Call:
    """Add one value per channel.

    Args:
        data: a tensor of any shape and dtype.
        bias: a vector with the data's dtype, as long as the data's ``axis``.
        axis: the axis of the channels; it may count from the end.

    Raises:
        QnnError: if the bias does not fit.
    """
    of_data, of_bias = spec("nn.bias_add: data", data), spec("nn.bias_add: bias", bias)
    rank = len(of_data.shape)
    if not -rank <= axis < rank:
        raise QnnError(f"nn.bias_add: the data of shape {of_data.shape} has no axis {axis}")
    channels = of_data.shape[axis]
    if of_bias.shape != (channels,) or of_bias.dtype != of_data.dtype:
        raise QnnError(
            f"nn.bias_add: the bias must be {of_data.dtype} of shape {(channels,)}, "
            f"got {of_bias.dtype} of shape {of_bias.shape}"
        )
    shape = [1] * rank
    shape[axis] = channels
    return typed(relax.op.add(data, typed(relax.op.reshape(bias, shape))))


def relu(data: relax.Expr) -> relax.Call:
    """Compute max(data, 0), any shape and dtype."""
    spec("nn.relu: data", data)
    return typed(relax.op.nn.relu(data))


def softmax(data: relax.Expr, axis: int = -1) -> relax.Call:
    """Compute probabilities of float32 logits along an axis."""
    spec("nn.softmax: data", data)
    return typed(relax.op.nn.softmax(data, axis))


def max_pool2d(
    data: relax.Expr,
    pool_size: Sizes = (1, 1),
    strides: Sizes = (1, 1),
    dilation: Sizes = (1, 1),
    padding: Sizes = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> relax.Call:
    """Return the maximum of each window of an image, any dtype."""
    spec("nn.max_pool2d: data", data)
    window = (pool_size, strides, padding, dilation, ceil_mode)
    layouts = {"layout": layout, "out_layout": out_layout or layout}
    return typed(relax.op.nn.max_pool2d(data, *window, **layouts))


def global_avg_pool2d(data: relax.Expr, layout: str = "NCHW") -> relax.Call:
    """Return the average of each channel of a float32 image; height and width become 1."""
    spec("nn.global_avg_pool2d: data", data)
    axes = [layout.index(letter) for letter in "HW"]
    return typed(relax.op.mean(data, axes, keepdims=True))


def batch_flatten(data: relax.Expr) -> relax.Call:
    """Flatten each item of a batch to a row."""
    batch = spec("nn.batch_flatten: data", data).shape[0]
    return typed(relax.op.reshape(data, [batch, -1]))


def conv2d(
    data: relax.Expr,
    weight: relax.Expr,
    strides: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Sizes | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> relax.Call:
    """Return a convolution of floats or integers; depthwise kernels have (channels, multiplier)."""
    del channels, kernel_size  # the weights have them
    of_data = spec("nn.conv2d: data", data)
    image = op.layout_transform(data, data_layout, "NCHW")
    kernel = op.layout_transform(weight, kernel_layout, "OIHW")
    kernel = depthwise_kernel(image, kernel, groups, "NCHW", "OIHW")
    made = relax.op.nn.conv2d(
        *(image, kernel, strides, padding, dilation, groups), out_dtype=out_dtype or of_data.dtype
    )
    return op.layout_transform(typed(made), "NCHW", out_layout or data_layout)


def depthwise_kernel(
    data: relax.Expr, kernel: relax.Expr, groups: int, data_layout: str, kernel_layout: str
) -> relax.Expr:
    """Return a kernel with one input channel in place of Relay's multiplier of channels."""
    shape = list(spec("nn.conv2d: weight", kernel).shape)
    outer, inner = (kernel_layout.index(letter) for letter in "OI")
    channels = spec("nn.conv2d: data", data).shape[data_layout.index("C")]
    if groups == 1 or groups != channels or shape[outer] != channels or shape[inner] == 1:
        return kernel
    # The multiplier counts faster than the channel, so its axis must be after the channel's.
    order = [axis for axis in range(4) if axis != inner]
    order.insert(order.index(outer) + 1, inner)
    sizes = [shape[axis] for axis in range(4) if axis != inner]
    sizes[order.index(outer)] *= shape[inner]
    return op.expand_dims(op.reshape(op.transpose(kernel, order), sizes), inner)


def conv1d(
    data: relax.Expr,
    weight: relax.Expr,
    strides: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    channels: int | None = None,
    kernel_size: Sizes | None = None,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str = "",
    out_dtype: str = "",
) -> relax.Call:
    """Return a convolution along rows, of floats or integers."""
    del channels, kernel_size  # the weights have them
    of_data = spec("nn.conv1d: data", data)
    row = op.layout_transform(data, data_layout, "NCW")
    kernel = op.layout_transform(weight, kernel_layout, "OIW")
    window = (strides, padding, dilation, groups)
    made = relax.op.nn.conv1d(row, kernel, *window, out_dtype=out_dtype or of_data.dtype)
    return op.layout_transform(typed(made), "NCW", out_layout or data_layout)


def conv2d_transpose(
    data: relax.Expr,
    weight: relax.Expr,
    strides: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    channels: int | None = None,
    kernel_size: Sizes | None = None,
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: Sizes = 0,
    out_dtype: str = "",
) -> relax.Call:
    """Return a transposed convolution of floats or integers."""
    del channels, kernel_size  # the weights have them
    of_data = spec("nn.conv2d_transpose: data", data)
    made = relax.op.nn.conv2d_transpose(
        op.layout_transform(data, data_layout, "NCHW"),
        op.layout_transform(weight, kernel_layout, "IOHW"),
        *(strides, padding, output_padding, dilation, groups),
        out_dtype=out_dtype or of_data.dtype,
    )
    return op.layout_transform(typed(made), "NCHW", out_layout or data_layout)


def dense(
    data: relax.Expr, weight: relax.Expr, units: int | None = None, out_dtype: str = ""
) -> relax.Call:
    """Multiply rows by weights of (units, features): floats or integers."""
    del units  # the weights have them
    dtype = out_dtype or spec("nn.dense: data", data).dtype
    return typed(relax.op.matmul(data, op.transpose(weight, [1, 0]), dtype))


def contrib_dense_pack(
    data: relax.Expr,
    weight: relax.Expr,
    weight_layout: str = "NC",
    units: int | None = None,
    out_dtype: str = "",
) -> relax.Call:
    """Multiply rows by weights in blocks: with layout "NC8n" they are (units / 8, features, 8)."""
    return dense(data, op.layout_transform(weight, weight_layout, "NC"), units, out_dtype)


def batch_matmul(
    tensor_a: relax.Expr,
    tensor_b: relax.Expr,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> relax.Call:
    """Multiply matrices: by default (batch, m, k) by (batch, n, k)."""
    dtype = out_dtype or spec("nn.batch_matmul: tensor_a", tensor_a).dtype
    first = op.transpose(tensor_a, [0, 2, 1]) if transpose_a else tensor_a
    second = op.transpose(tensor_b, [0, 2, 1]) if transpose_b else tensor_b
    return typed(relax.op.matmul(first, second, dtype))


def avg_pool2d(
    data: relax.Expr,
    pool_size: Sizes = (1, 1),
    strides: Sizes = (1, 1),
    dilation: Sizes = (1, 1),
    padding: Sizes = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> relax.Call:
    """Return the average of each window of an image; averages of integers are truncated."""
    spec("nn.avg_pool2d: data", data)
    window = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    layouts = {"layout": layout, "out_layout": out_layout or layout}
    return typed(relax.op.nn.avg_pool2d(data, *window, **layouts))


def pad(
    data: relax.Expr,
    pad_width: Sequence[Sequence[int]],
    pad_value: float = 0,
    pad_mode: str = "constant",
) -> relax.Call:
    """Pad a tensor with a value; ``pad_width`` has the numbers before and after each axis."""
    spec("nn.pad: data", data)
    width = [int(each) for pair in pad_width for each in pair]
    value = float(number("nn.pad: pad_value", pad_value))
    return typed(relax.op.nn.pad(data, width, pad_mode, value))


def leaky_relu(data: relax.Expr, alpha: float = 0.01) -> relax.Call:
    """Compute x, or alpha · x if x is negative, for floats."""
    spec("nn.leaky_relu: data", data)
    return typed(relax.op.nn.leakyrelu(data, alpha))


def prelu(data: relax.Expr, alpha: relax.Expr, axis: int = 1) -> relax.Call:
    """Compute x, or alpha · x if x is negative, for floats; ``alpha`` has a value per channel."""
    shape = spec("nn.prelu: data", data).shape
    sizes = [-1 if each == axis % len(shape) else 1 for each in range(len(shape))]
    return op.where(op.greater(data, op.zeros_like(data)), data, data * op.reshape(alpha, sizes))


def upsampling(
    data: relax.Expr,
    scale_h: Any = 1,
    scale_w: Any = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> relax.Call:
    """Enlarge an image; ``method`` is "nearest_neighbor", "bilinear" or "bicubic"."""
    shape = spec("nn.upsampling: data", data).shape
    scales = {"H": number("scale_h", scale_h), "W": number("scale_w", scale_w)}
    size = [round(shape[layout.index(letter)] * scale) for letter, scale in scales.items()]
    mode = "align_corners" if align_corners else "asymmetric"
    return image.resize2d(data, size, None, layout, method.removeprefix("bi"), mode)


def adaptive_avg_pool1d(
    data: relax.Expr, output_size: int | None = None, layout: str = "NCW", out_layout: str = ""
) -> relax.Call:
    """Return averages of windows that divide a row into ``output_size`` parts."""
    width = spec("nn.adaptive_avg_pool1d: data", data).shape[layout.index("W")]
    sizes = ([output_size or width], layout, out_layout or layout)
    return typed(relax.op.nn.adaptive_avg_pool1d(data, *sizes))


def adaptive_avg_pool2d(
    data: relax.Expr, output_size: Sizes | None = None, layout: str = "NCHW", out_layout: str = ""
) -> relax.Call:
    """Return averages of windows that divide an image into ``output_size`` parts."""
    spec("nn.adaptive_avg_pool2d: data", data)
    sizes = (output_size, layout, out_layout or layout)
    return typed(relax.op.nn.adaptive_avg_pool2d(data, *sizes))


def log_softmax(data: relax.Expr, axis: int = -1) -> relax.Call:
    """Compute logarithms of the probabilities of float32 logits along an axis."""
    spec("nn.log_softmax: data", data)
    return typed(relax.op.nn.log_softmax(data, axis))


def dropout(data: relax.Expr, rate: float = 0.5) -> relax.Expr:
    """Return the data: dropout only drops values in training."""
    del rate
    spec("nn.dropout: data", data)
    return data


def depth_to_space(
    data: relax.Expr, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> relax.Call:
    """Move channels into blocks of pixels.

    Args:
        data: an image.
        block_size: the sides of the blocks.
        layout: NCHW or NHWC.
        mode: "DCR" if the channels that remain count fastest, "CRD" if they count slowest.
    """
    image = op.layout_transform(data, layout, "NCHW")
    batch, channels, height, width = spec("nn.depth_to_space: data", image).shape
    left, rest = divmod(channels, block_size**2)
    if rest:
        raise QnnError(f"nn.depth_to_space: {channels} channels make no blocks of {block_size}")
    side = block_size
    if mode == "DCR":
        parts = op.reshape(image, (batch, side, side, left, height, width))
        order = (0, 3, 4, 1, 5, 2)
    else:
        parts = op.reshape(image, (batch, left, side, side, height, width))
        order = (0, 1, 4, 2, 5, 3)
    moved = op.reshape(op.transpose(parts, order), (batch, left, height * side, width * side))
    return op.layout_transform(moved, "NCHW", layout)


def global_max_pool2d(data: relax.Expr, layout: str = "NCHW") -> relax.Call:
    """Return the maximum of each channel of an image; height and width become 1."""
    spec("nn.global_max_pool2d: data", data)
    return op.max(data, [layout.index(letter) for letter in "HW"], keepdims=True)


def layer_norm(
    data: relax.Expr,
    gamma: relax.Expr,
    beta: relax.Expr,
    axis: int = -1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> relax.Call:
    """Normalize floats along an axis by their own mean and variance."""
    spec("nn.layer_norm: data", data)
    settings = {"center": center, "scale": scale}
    return typed(relax.op.nn.layer_norm(data, gamma, beta, [axis], epsilon, **settings))


def batch_norm(
    data: relax.Expr,
    gamma: relax.Expr,
    beta: relax.Expr,
    moving_mean: relax.Expr,
    moving_var: relax.Expr,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> relax.Call:
    """Normalize channels of floats by their stated mean and variance.

    Returns:
        A tuple: the result, the mean and the variance.
    """
    spec("nn.batch_norm: data", data)
    settings = {"center": center, "scale": scale, "training": False}
    call = relax.op.nn.batch_norm(
        *(data, gamma, beta, moving_mean, moving_var, axis, epsilon), **settings
    )
    return typed(call)
