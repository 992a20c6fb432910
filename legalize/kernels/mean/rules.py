"""Rules for means."""

from itertools import groupby
from math import prod

import numpy as np

from legalize.kernels.call import call_tir
from legalize.kernels.ir.arithmetic import LARGEST
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.kernels.mean.kernel import MeanSpec, Rescaling, Rounding, mean
from qnn_ops import quantized_mean
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime, mean_factor
from qnn_ops.arithmetic.xnnpack import is_xnnpack
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.quantized.mean import averaged, multiplier_of


def _mean(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    if is_xnnpack(attrs):
        return None
    data = spec_of(operands[0])
    axes, count = averaged(attrs, data.shape)
    merged = _merged(data.shape, axes)
    if merged is None or not axes or count * 255 > LARGEST or 0 in data.shape:
        return None
    out_shape = tuple(
        1 if axis in axes else size
        for axis, size in enumerate(data.shape)
        if attrs.keepdims or axis not in axes
    )
    finish = _finish(attrs, count)
    if finish is None:
        return None
    spec = MeanSpec(
        in_shape=data.shape,
        out_shape=out_shape,
        axes=merged,
        in_dtype=data.dtype,
        out_dtype=attrs.out_dtype,
        finish=finish,
    )
    return call_tir(builder, "mean", mean(isa, spec), [operands[0]], out_shape, attrs.out_dtype)


def _finish(attrs: Attrs, count: int) -> Rescaling | Rounding | None:
    """Return the rescaling of sums of ``count`` values; None if their scale leaves float32."""
    points = attrs.input_zero_point, attrs.output_zero_point
    if not is_onnxruntime(attrs):
        return Rescaling(*points, *multiplier_of(attrs, count))
    factor = mean_factor(attrs, count)
    return Rounding(*points, factor) if np.isfinite(factor) else None


def _merged(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Count the values before, along and after the axes; None unless the axes are adjacent."""
    # An axis of size 1 may count on either side.
    kinds = [(axis in axes, size) for axis, size in enumerate(shape) if size != 1]
    runs = [
        (is_averaged, prod(size for _, size in run))
        for is_averaged, run in groupby(kinds, key=lambda kind: kind[0])
    ]
    if sum(is_averaged for is_averaged, _ in runs) > 1:
        return None
    sizes = [size for _, size in runs]
    if not any(is_averaged for is_averaged, _ in runs):
        return prod(sizes), 1, 1
    before = 1 if runs[0][0] else sizes.pop(0)
    return before, sizes[0], sizes[1] if len(sizes) > 1 else 1


RULES = ((quantized_mean, _mean),)
