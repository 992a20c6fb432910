"""XNNPACK's means of whole images."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.group import Group, LeftInFloatError, rule
from qnn_ops import quantized_mean
from qnn_ops.registry import spec_of
from qnn_ops.xnnpack import XNNPACK


@rule("nn.adaptive_avg_pool2d", arithmetics=[XNNPACK])
def _adaptive_avg_pool2d(group: Group, call: relax.Call) -> relax.Expr:
    if [int(size) for size in call.attrs.output_size or ()] != [1, 1]:
        raise LeftInFloatError("an average is not of whole images")
    return _averaged(group, call)


@rule("mean", arithmetics=[XNNPACK])
def _mean(group: Group, call: relax.Call) -> relax.Expr:
    rank = len(spec_of(call.args[0]).shape)
    axes = sorted(int(axis) % rank for axis in call.attrs.axis or ())
    if rank != 4 or axes != [2, 3] or not bool(call.attrs.keepdims):
        raise LeftInFloatError("a mean is not of images, or drops their axes")
    return _averaged(group, call)


def _averaged(group: Group, call: relax.Call) -> relax.Expr:
    data = group.activation(call.args[0])
    return quantized_mean(
        data.data, [2, 3], True, **data.input, **group.result(), arithmetic=XNNPACK
    )
