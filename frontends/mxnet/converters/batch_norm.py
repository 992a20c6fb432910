"""BatchNorm of floats."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.values import Array
from qnn_ops.checks import check_axis
from qnn_ops.errors import QnnError
from qnn_ops.rounded import rounded

_EPSILON = 1e-3


@converter("BatchNorm", "BatchNorm_v1", "CuDNNBatchNorm")
def convert_batch_norm(ctx: Context) -> relax.Expr:
    """Subtract the running mean, multiply by gamma by the running deviation, add beta."""
    if ctx.attrs.flag("output_mean_var", False):
        raise UnsupportedError("the mean and variance as outputs are of use in training only")
    shape = ctx.shape(0)
    axis = check_axis(ctx.attrs.integer("axis", 1), len(shape))
    gamma, beta, mean, variance = (_channels(ctx, place, shape[axis]) for place in range(1, 5))
    if ctx.attrs.flag("fix_gamma", True):
        gamma = np.ones_like(gamma)
    with np.errstate(all="ignore"):
        deviation = np.sqrt(variance + np.float32(ctx.attrs.real("eps", _EPSILON)))
        scale = (gamma / deviation).astype(np.float32)
    if not np.isfinite(scale).all():
        raise QnnError(f"{ctx.operand(4).name!r} must not be negative, less eps")
    around = [-1 if index == axis else 1 for index in range(len(shape))]

    def constant(array: Array, suffix: str) -> relax.Expr:
        return ctx.parameter(array.reshape(around), suffix)

    centred = R.subtract(ctx.expr(0), constant(mean, "_mean"))
    product = rounded(R.multiply(centred, constant(scale, "_scale")))
    return R.add(product, constant(beta, "_beta"))


def _channels(ctx: Context, position: int, count: int) -> Array:
    """Return a parameter of one value per channel."""
    values = ctx.constant(position).astype(np.float32)
    if values.shape != (count,):
        raise QnnError(
            f"{ctx.operand(position).name!r} must have shape ({count},), got {values.shape}"
        )
    return values
