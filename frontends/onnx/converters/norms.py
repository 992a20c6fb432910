"""LpNormalization, LpPool and GlobalLpPool."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from frontends.onnx.converters.windows import window_of
from qnn_ops import reduce_windows
from qnn_ops.registry import spec_of


@converter("LpNormalization")
def _normalize(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Divide by the norm along an axis what the largest number was divided by; 0 stays 0."""
    (data,) = operands_of(operands, 1)
    emit, spec = builder.emit, spec_of(data)
    axis, degree = int(attributes.get("axis", -1)), int(attributes.get("p", 2))
    if degree not in (1, 2) or not -len(spec.shape) <= axis < len(spec.shape):
        raise UnsupportedError(f"a norm of degree {degree} along axis {axis}")
    zero, one = (relax.const(np.asarray(each, spec.dtype), spec.dtype) for each in (0, 1))
    most = emit(R.max(emit(R.abs(data)), [axis], keepdims=True))
    is_scaled = emit(R.logical_and(R.isfinite(most), R.greater(most, zero)))
    scaled = emit(R.divide(data, emit(R.where(is_scaled, most, one))))
    norm = emit(_root(builder, emit(R.sum(_power(builder, scaled, degree), [axis], True)), degree))
    return R.divide(scaled, emit(R.where(emit(R.equal(most, zero)), one, norm)))


@converter("LpPool")
def _pool(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Add up powers in each window, and draw the root."""
    (data,) = operands_of(operands, 1)
    shape, degree = spec_of(data).shape, int(attributes.get("p", 2))
    kernel = [int(each) for each in attributes.get("kernel_shape", ())]
    window = window_of(attributes, shape[2:], kernel)
    half, sides = len(kernel), [0, 0, 0, 0]
    for before, after in zip(window.padding[:half], window.padding[half:], strict=True):
        sides += [before, after]
    powers = _power(builder, data, degree)
    if any(sides):
        powers = builder.emit(R.nn.pad(powers, sides))
    size, steps, gaps = ([1, 1, *each] for each in (kernel, window.strides, window.dilations))
    start = relax.const(np.zeros(1, np.float32))
    return _root(builder, builder.emit(reduce_windows(powers, start, size, steps, gaps)), degree)


@converter("GlobalLpPool")
def _pool_all(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    (data,) = operands_of(operands, 1)
    degree, axes = int(attributes.get("p", 2)), list(range(2, len(spec_of(data).shape)))
    sums = builder.emit(R.sum(_power(builder, data, degree), axes, keepdims=True))
    return _root(builder, sums, degree)


def _power(builder: relax.BlockBuilder, data: relax.Expr, degree: int) -> relax.Expr:
    """Return a power of magnitudes, by products where the degree is small."""
    size = builder.emit(R.abs(data))
    if degree < 1:
        raise UnsupportedError(f"a norm of degree {degree}")
    if degree <= 2:
        return builder.emit(R.multiply(size, size)) if degree == 2 else size
    dtype = spec_of(data).dtype
    return builder.emit(R.power(size, relax.const(np.asarray(degree, dtype), dtype)))


def _root(builder: relax.BlockBuilder, sums: relax.Expr, degree: int) -> relax.Expr:
    if degree <= 2:
        return R.sqrt(sums) if degree == 2 else sums
    dtype = spec_of(sums).dtype
    return R.power(sums, relax.const(np.asarray(np.float32(1) / np.float32(degree), dtype), dtype))
