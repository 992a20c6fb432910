"""``relay.nn``: what stands beside ``relay.qnn.op`` in a hand-written quantized network."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay.expr import spec, typed


def bias_add(data: relax.Expr, bias: relax.Expr, axis: int = 1) -> relax.Call:
    """Add one value per channel.

    Args:
        data: any shape and dtype.
        bias: the data's dtype, a vector as long as the data's ``axis``.
        axis: of the channels; may count from the end.

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
    pool_size: int | Sequence[int] = (1, 1),
    strides: int | Sequence[int] = (1, 1),
    dilation: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> relax.Call:
    """Return the maximum of each window of an image, any dtype."""
    spec("nn.max_pool2d: data", data)
    call = relax.op.nn.max_pool2d(
        data,
        pool_size,
        strides,
        padding,
        dilation,
        ceil_mode,
        layout=layout,
        out_layout=out_layout or layout,
    )
    return typed(call)


def global_avg_pool2d(data: relax.Expr, layout: str = "NCHW") -> relax.Call:
    """Return the average of each channel of a float32 image; height and width stay, as 1."""
    spec("nn.global_avg_pool2d: data", data)
    axes = [layout.index(letter) for letter in "HW"]
    return typed(relax.op.mean(data, axes, keepdims=True))


def batch_flatten(data: relax.Expr) -> relax.Call:
    """Make one row of each item of a batch."""
    batch = spec("nn.batch_flatten: data", data).shape[0]
    return typed(relax.op.reshape(data, [batch, -1]))
