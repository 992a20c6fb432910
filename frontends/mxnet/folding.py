"""MXNet's changes of weights at the first run of a quantized network, in numpy float32.

Source: sg_mkldnn_conv.cc and mkldnn_conv.cc of MXNet 1.9.1: UpdateConvWeightBias,
QuantizeConvWeightBias and GetWeightScales. Every operation rounds to float32 as in MXNet, unless a
comment says otherwise.
"""

import numpy as np

from frontends.mxnet.scalars import Array, steps_per_unit
from qnn_ops.dialect.attributes import dtype_range

# A bias may take half of int32's range.
_BIAS_LIMIT = np.float32(2**31) / np.float32(2)


def fold_batch_norm(
    weight: Array,
    bias: Array | None,
    gamma: Array,
    beta: Array,
    mean: Array,
    variance: Array,
    eps: float,
) -> tuple[Array, Array]:
    """Fold a batch normalization into weights and bias of the convolution before it.

    Args:
        weight: float32 [channels, ...].
        bias: float32 [channels], or None.
        gamma: float32 [channels], like the next three; ones if the operator has fix_gamma.
        beta: the addend.
        mean: running mean.
        variance: running variance.
        eps: added to the variance.
    """
    # In MXNet eps is a double, and so is the quotient until it is stored.
    deviation = np.sqrt(variance.astype(np.float64) + eps)
    alpha = (gamma.astype(np.float64) / deviation).astype(np.float32)
    folded = beta - alpha * mean if bias is None else beta + alpha * (bias - mean)
    return weight * alpha.reshape(-1, *[1] * (weight.ndim - 1)), folded.astype(np.float32)


def channel_steps(weight: Array) -> Array:
    """Compute the steps per unit of each output channel of a weight."""
    rows = weight.reshape(len(weight), -1)
    steps: Array = steps_per_unit("int8", rows.min(axis=1), rows.max(axis=1))
    return steps


def limit_steps(steps: Array, bias: Array, data_steps: Array) -> Array:
    """Reduce the steps of channels whose bias, in steps of the sums, would leave int32.

    Args:
        steps: float32 [channels] of the weight.
        bias: float32 [channels].
        data_steps: float32, of the data.
    """
    with np.errstate(over="ignore"):
        most = most_bias_steps(bias) / data_steps
    return np.where(bias == 0, steps, np.minimum(steps, most)).astype(np.float32)


def most_bias_steps(bias: Array) -> Array:
    """Return the most steps per unit of sums at which a bias fits int32; infinite for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(_BIAS_LIMIT / np.abs(bias))


def quantize_weight(weight: Array, steps: Array) -> Array:
    """Round weights to int8, half to even.

    Args:
        weight: float32 [channels, ...].
        steps: float32, one or one per channel.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = weight * np.reshape(steps, (-1, *[1] * (weight.ndim - 1)))
    low, high = dtype_range("int8")
    return np.clip(np.rint(np.nan_to_num(scaled)), low, high).astype(np.int8)


def quantize_bias(bias: Array, steps: Array) -> Array:
    """Return a bias as int32, rounded half to even.

    Args:
        bias: float32 [channels].
        steps: float32 [channels], of the sums.
    """
    with np.errstate(over="ignore"):
        scaled = np.rint((bias * steps).astype(np.float64))
    low, high = dtype_range("int32")
    return np.clip(scaled, low, high).astype(np.int32)
