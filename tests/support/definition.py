"""Convolutions by their definition, in int64: the expected results of all kernels."""

from collections.abc import Callable
from functools import partial

import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier, scaled_once
from qnn_ops.arrays import Array


def accumulators(
    spec: ConvSpec, data: Array, kernel: Array, kernel_zero_point: int, bias: Array | None
) -> Array:
    """Sum (x − zx)(w − zw) + bias as the definition says, in int64."""
    top, left, bottom, right = spec.padding
    x = np.pad(
        data.astype(np.int64) - spec.input_zero_point,
        ((0, 0), (top, bottom), (left, right), (0, 0)),
    )
    w = kernel.astype(np.int64) - kernel_zero_point
    # Taps first: of matrices, or of a depthwise convolution's rows.
    w, product = (w, "nyxc,c->nyxc") if w.ndim == 3 else (w.transpose(1, 2, 0, 3), "nyxc,oc->nyxo")
    _, rows, columns, _ = spec.out_shape
    total = np.zeros(spec.out_shape, np.int64) + (0 if bias is None else bias)
    for i in range(spec.kernel_height):
        for j in range(spec.kernel_width):
            y, z = i * spec.dilation[0], j * spec.dilation[1]
            window = x[:, y:, z:][:, :: spec.strides[0], :: spec.strides[1]]
            total += np.einsum(product, window[:, :rows, :columns], w[i, j])
    return total


def rescaled(spec: ConvSpec, sums: Array, multiplier: Array, shift: Array) -> Array:
    """Turn accumulators into outputs."""
    if spec.output.dtype == "int32":
        return sums.astype(np.int32)
    by_rounding: dict[str, Callable[..., Array]] = {
        "tflite": multiply_by_quantized_multiplier,
        "upward": partial(scaled_once, bits=31),
    }
    scaled = by_rounding[spec.output.rounding](sums, multiplier, shift).astype(np.int64)
    moved = scaled + spec.output.zero_point
    return np.clip(moved, spec.output.low, spec.output.high).astype(spec.output.dtype)
