"""Normalizations and norms, in the order that ONNX Runtime adds their sums in."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter
from frontends.onnx.converters.windows.convolutions import window_of
from qnn_ops import fused_multiply_add, reduce_windows, row_moments
from qnn_ops.registry import spec_of
from qnn_ops.rounded import rounded


@converter("BatchNormalization")
def _batch_normalization(call: Call) -> Any:
    """Multiply by the scale times the reciprocal of the deviation, and add what is left."""
    data, *numbers = call.arrays(5)
    if call.attributes["tvm_custom"]["num_outputs"] != 1 or call.attributes.get("training_mode", 0):
        raise UnsupportedError("training is not imported")
    if any((each.shape, each.dtype) != (data.shape[1:2], "float32") for each in numbers):
        raise UnsupportedError("it must have one number of float32 for each channel")
    scale, bias, mean, variance = numbers
    reciprocal = 1 / np.sqrt(variance + call.attributes.get("epsilon", 1e-5))
    factor = scale * reciprocal
    offset = bias - mean * factor
    channels = (1, -1, *[1] * (len(data.shape) - 2))
    factor, offset = factor.reshape(*channels), offset.reshape(*channels)
    return data * factor + offset


def moments(
    builder: relax.BlockBuilder, data: relax.Expr, axis: int, order: str
) -> tuple[relax.Expr, relax.Expr]:
    """Return the mean over the axes from one on, and that of the squared distances.

    Args:
        builder: of the module.
        data: float32.
        axis: the first of those that are reduced.
        order: of ``row_moments``.

    Returns:
        Both with one axis of size 1 in the places of those.
    """
    shape, emit = spec_of(data).shape, builder.emit
    rows = emit(R.reshape(data, (prod(shape[:axis]), prod(shape[axis:]))))
    both = emit(row_moments(rows, order))
    columns = (emit(R.strided_slice(both, [1], [begin], [begin + 1])) for begin in range(2))
    mean, squares = (emit(R.reshape(column, (*shape[:axis], 1))) for column in columns)
    return mean, squares


def normalized(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    axis: int,
    order: str,
    epsilon: float,
    parameters: tuple[relax.Expr, relax.Expr | None],
) -> relax.Expr:
    """Normalize rows, multiply by a scale and add a bias, as ONNX Runtime does.

    Of orders that add in vectors distances from the mean are multiplied by the reciprocal of the
    deviation, and the product with the scale and the sum with the bias have one rounding. Of others
    distances are divided, and each step is rounded. There is no mean in orders of squares.
    """
    shape, emit = spec_of(data).shape, builder.emit
    count = prod(shape[axis:])
    mean, squares = moments(builder, data, axis, order)
    deviation = emit(R.sqrt(emit(R.add(squares, relax.const(np.float32(epsilon))))))
    rows = emit(R.reshape(data, (*shape[:axis], count)))
    if "squares" not in order:
        rows = emit(R.subtract(rows, mean))
    scale, bias = (each if each is None else emit(R.reshape(each, (count,))) for each in parameters)
    if not order.startswith("vector"):
        result = emit(R.multiply(emit(R.divide(rows, deviation)), scale))
        if bias is not None:
            result = emit(R.add(emit(rounded(result)), bias))
        return emit(R.reshape(result, shape))
    reciprocal = emit(R.divide(relax.const(np.float32(1)), deviation))
    steps = emit(R.multiply(rows, reciprocal))
    if bias is None:
        result = emit(R.multiply(steps, scale))
    else:
        result = emit(fused_multiply_add(steps, scale, bias))
    return emit(R.reshape(result, shape))


def order_of(attributes: dict[str, Any], count: int, names: tuple[str, str], least: int) -> str:
    """Return the order that is stated, or that of MLAS, which has vectors from a size on.

    Args:
        attributes: of the operator; those of ONNX Runtime's own operators may state an order.
        count: the elements of a row.
        names: of the orders of short rows, and of longer ones.
        least: the elements of a longer one.
    """
    if "order" in attributes:
        return str(attributes["order"].decode())
    return names[count >= least]


_LEAST_LAYER = 8
"""Elements of a row that MLAS has vectors for."""


@converter("LayerNormalization")
def _layer_normalization(call: Call) -> relax.Expr:
    """Return the normalized data, and perhaps the mean and the reciprocal of the deviation.

    Sums, and what becomes of them, are those of MLAS on x86 with AVX2, or those of rows one by one
    where they are short; where an order is stated, as that of ONNX Runtime's operators with a sum
    before it, this.
    """
    data, scale, bias = call.operands(3)
    shape = spec_of(data).shape
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("it must be of float32")
    axis = int(call.attributes.get("axis", -1)) % len(shape)
    order = order_of(call.attributes, prod(shape[axis:]), ("welford", "vectors"), _LEAST_LAYER)
    epsilon = call.attributes.get("epsilon", 1e-5)
    result = normalized(call.builder, data, axis, order, epsilon, (scale, bias))
    count = int(call.attributes["tvm_custom"]["num_outputs"])
    if count == 1:
        return result
    emit, one = call.emit, relax.const(np.float32(1))
    mean, squares = moments(call.builder, data, axis, order)
    deviation = emit(R.sqrt(emit(R.add(squares, relax.const(np.float32(epsilon))))))
    columns = (*shape[:axis], *[1] * (len(shape) - axis))
    found = [emit(R.reshape(each, columns)) for each in (mean, emit(R.divide(one, deviation)))]
    return relax.Tuple([result, *found][:count])


_LEAST_RMS = 16
"""Elements of a row that MLAS has vectors for."""


@converter("RMSNormalization")
def _rms_normalization(call: Call) -> relax.Expr:
    """Divide the data by the root of the mean of their squares, and multiply by the scale.

    Sums, and what becomes of them, are those of MLAS on x86 with AVX2, or those of rows one by one
    where they are short or ONNX Runtime's SkipSimplifiedLayerNormalization states it.
    """
    data, scale = call.operands(2)
    shape = spec_of(data).shape
    if spec_of(data).dtype != "float32" or call.attributes.get("stash_type", 1) != 1:
        raise UnsupportedError("it must be of float32")
    axis = int(call.attributes.get("axis", -1))
    if axis not in range(-len(shape), len(shape)):
        raise UnsupportedError(f"axis {axis} of data of shape {list(shape)}")
    axis %= len(shape)
    order = order_of(call.attributes, prod(shape[axis:]), ("squares", "vector_squares"), _LEAST_RMS)
    epsilon = call.attributes.get("epsilon", 1e-5)
    return normalized(call.builder, data, axis, order, epsilon, (scale, None))


@converter("LpNormalization")
def _normalize(call: Call) -> relax.Expr:
    """Divide by the norm along an axis what the largest number was divided by; 0 stays 0."""
    (data,) = call.operands(1)
    emit, spec = call.emit, spec_of(data)
    axis, degree = int(call.attributes.get("axis", -1)), int(call.attributes.get("p", 2))
    if degree not in (1, 2) or not -len(spec.shape) <= axis < len(spec.shape):
        raise UnsupportedError(f"a norm of degree {degree} along axis {axis}")
    zero, one = (relax.const(np.asarray(each, spec.dtype), spec.dtype) for each in (0, 1))
    most = emit(R.max(emit(R.abs(data)), [axis], keepdims=True))
    is_scaled = emit(R.logical_and(R.isfinite(most), R.greater(most, zero)))
    scaled = emit(R.divide(data, emit(R.where(is_scaled, most, one))))
    powers = _power(call.builder, scaled, degree)
    norm = emit(_root(emit(R.sum(powers, [axis], True)), degree))
    return R.divide(scaled, emit(R.where(emit(R.equal(most, zero)), one, norm)))


@converter("LpPool")
def _pool(call: Call) -> relax.Expr:
    """Add up powers in each window, and draw the root."""
    (data,) = call.operands(1)
    shape, degree = spec_of(data).shape, int(call.attributes.get("p", 2))
    kernel = [int(each) for each in call.attributes.get("kernel_shape", ())]
    window = window_of(call.attributes, shape[2:], kernel)
    half, sides = len(kernel), [0, 0, 0, 0]
    for before, after in zip(window.padding[:half], window.padding[half:], strict=True):
        sides += [before, after]
    powers = _power(call.builder, data, degree)
    if any(sides):
        powers = call.emit(R.nn.pad(powers, sides))
    size, steps, gaps = ([1, 1, *each] for each in (kernel, window.strides, window.dilations))
    start = relax.const(np.zeros(1, np.float32))
    return _root(call.emit(reduce_windows(powers, start, size, steps, gaps)), degree)


@converter("GlobalLpPool")
def _pool_all(call: Call) -> relax.Expr:
    (data,) = call.operands(1)
    degree, axes = int(call.attributes.get("p", 2)), list(range(2, len(spec_of(data).shape)))
    sums = call.emit(R.sum(_power(call.builder, data, degree), axes, keepdims=True))
    return _root(sums, degree)


def _power(builder: relax.BlockBuilder, data: relax.Expr, degree: int) -> relax.Expr:
    """Return a power of magnitudes, by products where the degree is small."""
    size = builder.emit(R.abs(data))
    if degree < 1:
        raise UnsupportedError(f"a norm of degree {degree}")
    if degree <= 2:
        return builder.emit(R.multiply(size, size)) if degree == 2 else size
    dtype = spec_of(data).dtype
    return builder.emit(R.power(size, relax.const(np.asarray(degree, dtype), dtype)))


def _root(sums: relax.Expr, degree: int) -> relax.Expr:
    if degree <= 2:
        return R.sqrt(sums) if degree == 2 else sums
    dtype = spec_of(sums).dtype
    return R.power(sums, relax.const(np.asarray(np.float32(1) / np.float32(degree), dtype), dtype))
