"""Normalizations and norms, whose sums are added in ONNX Runtime's order."""

from math import prod
from typing import Any

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, formula
from frontends.onnx.converters.windows.convolutions import window_of
from qnn_ops import fused_multiply_add, reduce_windows, row_moments
from qnn_ops.arithmetic.rounded import rounded


@formula("BatchNormalization")
def _batch_normalization(
    call: Call, data: Any, scale: Any, bias: Any, mean: Any, variance: Any
) -> Any:
    """Multiply by the scale over the deviation, and add a constant for each channel."""
    numbers = scale, bias, mean, variance
    if len(call.outputs) != 1 or call.integer("training_mode"):
        raise UnsupportedError("training is not imported")
    if any((each.shape, each.dtype) != (data.shape[1:2], "float32") for each in numbers):
        raise UnsupportedError("it must have one number of float32 for each channel")
    reciprocal = 1 / np.sqrt(variance + call.attributes.get("epsilon", 1e-5))
    factor = scale * reciprocal
    offset = bias - mean * factor
    channels = (1, -1, *[1] * (len(data.shape) - 2))
    factor, offset = factor.reshape(*channels), offset.reshape(*channels)
    return data * factor + offset


def moments(data: Any, axis: int, order: str) -> tuple[Any, Any]:
    """Return the mean and the mean squared distance from it, over all axes from one on.

    Args:
        data: an expression of float32.
        axis: the first reduced axis.
        order: an order of ``row_moments``.

    Returns:
        Both, with one axis of size 1 in place of the reduced axes.
    """
    outer = data.shape[:axis]
    rows = data.reshape(prod(outer), prod(data.shape[axis:]))
    both = data.to(row_moments(rows.expr, order))
    columns = (both[:, index : index + 1] for index in range(2))
    mean, squares = (column.reshape(*outer, 1) for column in columns)
    return mean, squares


def normalized(
    data: Any, axis: int, order: str, epsilon: float, parameters: tuple[Any, Any]
) -> Any:
    """Normalize rows, multiply by a scale and perhaps add a bias, as ONNX Runtime does.

    An order that adds in vectors multiplies distances from the mean by the reciprocal of the
    deviation; it rounds the product with the scale and the sum with the bias once. Other orders
    divide the distances, and round each step. Orders of squares have no mean.
    """
    shape, count = data.shape, prod(data.shape[axis:])
    mean, squares = moments(data, axis, order)
    deviation = np.sqrt(squares + epsilon)
    rows = data.reshape(*shape[:axis], count)
    if "squares" not in order:
        rows = rows - mean
    scale, bias = (each and each.reshape(count) for each in parameters)
    if not order.startswith("vector"):
        result = rows / deviation * scale
        return (result if bias is None else rounded(result) + bias).reshape(*shape)
    steps = rows * (1 / deviation)
    if bias is None:
        return (steps * scale).reshape(*shape)
    fused = fused_multiply_add(*(each.expr for each in (steps, scale, bias)))
    return data.to(fused).reshape(*shape)


_ORDERS = {
    "LayerNormalization": (8, "vectors", "welford"),
    "RMSNormalization": (16, "vector_squares", "squares"),
}
"""The fewest elements of a row that MLAS has vectors for; the order of such rows, and of others."""


@formula("LayerNormalization", "RMSNormalization")
def _normalization(call: Call, data: Any, scale: Any, bias: Any) -> Any:
    """Return the normalized data, and perhaps the mean and the reciprocal of the deviation.

    An RMSNormalization divides the data by the root of the mean of their squares. The arithmetic is
    that of MLAS on x86 with AVX2; short rows are added element by element. A stated order replaces
    both, as that of ONNX Runtime's operators with a sum before the normalization.
    """
    shape, (least, of_vectors, of_elements) = data.shape, _ORDERS[call.op]
    is_other = call.op == "RMSNormalization" and call.integer("stash_type", 1) != 1
    if data.dtype != "float32" or is_other:
        raise UnsupportedError("it must be of float32")
    axis = call.integer("axis", -1)
    if axis not in range(-len(shape), len(shape)):
        raise UnsupportedError(f"axis {axis} of data of shape {list(shape)}")
    axis %= len(shape)
    order = call.text("order", of_vectors if prod(shape[axis:]) >= least else of_elements)
    epsilon = call.attributes.get("epsilon", 1e-5)
    result = normalized(data, axis, order, epsilon, (scale, bias))
    count = len(call.outputs)
    if count == 1:
        return result
    mean, squares = moments(data, axis, order)
    reciprocal = 1 / np.sqrt(squares + epsilon)
    columns = (*shape[:axis], *[1] * (len(shape) - axis))
    found = [mean.reshape(*columns), reciprocal.reshape(*columns)]
    return relax.Tuple([each.expr for each in (result, *found)][:count])


@formula("LpNormalization")
def _normalize(call: Call, data: Any) -> Any:
    """Divide by the largest magnitude along an axis, then by the norm of the result; 0 stays 0."""
    axis, degree = call.integer("axis", -1), call.integer("p", 2)
    if degree not in (1, 2) or not -data.ndim <= axis < data.ndim:
        raise UnsupportedError(f"a norm of degree {degree} along axis {axis}")
    most = np.abs(data).max([axis], keepdims=True)
    is_scaled = np.isfinite(most) & (most > 0)
    scaled = data / np.where(is_scaled, most, 1)
    norm = _root(_power(scaled, degree).sum([axis], data.dtype, True), degree)
    return scaled / np.where(most == 0, 1, norm)


@formula("LpPool")
def _pool(call: Call, data: Any) -> Any:
    """Add up powers in each window, and take the root of the sum."""
    degree, kernel = call.integer("p", 2), call.integers("kernel_shape")
    window = window_of(call, data.shape[2:], kernel)
    powers, half = _power(data, degree), len(kernel)
    if any(window.padding):
        sides = zip(window.padding[:half], window.padding[half:], strict=True)
        powers = np.pad(powers, [(0, 0), (0, 0), *sides])
    size, steps, gaps = ([1, 1, *each] for each in (kernel, window.strides, window.dilations))
    start = relax.const(np.zeros(1, np.float32))
    return _root(powers.to(reduce_windows(powers.expr, start, size, steps, gaps)), degree)


@formula("GlobalLpPool")
def _pool_all(call: Call, data: Any) -> Any:
    degree, axes = call.integer("p", 2), list(range(2, data.ndim))
    return _root(_power(data, degree).sum(axes, data.dtype, True), degree)


def _power(data: Any, degree: int) -> Any:
    """Return a power of magnitudes; products compute powers of small degree."""
    size = np.abs(data)
    if degree < 1:
        raise UnsupportedError(f"a norm of degree {degree}")
    if degree <= 2:
        return size * size if degree == 2 else size
    return np.power(size, degree)


def _root(sums: Any, degree: int) -> Any:
    if degree <= 2:
        return np.sqrt(sums) if degree == 2 else sums
    return np.power(sums, np.float32(1) / np.float32(degree))
