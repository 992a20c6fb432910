"""Inputs that are no pictures, constants, and layers with weights that classifiers do not need."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from qnn_ops.arithmetic.encoding import Encoding, quantize_array
from tvm_qnn.zoo.file import QUANTIZED, File, Shape, Tensor
from tvm_qnn.zoo.float_ops import Real
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Graph, Operator, Tensors, Value, Write, plain
from tvm_qnn.zoo.operators import SAMPLES, add_input, drawn_layer, weighted

_STREAM = 64  # steps of a stream


def spectra(graph: Graph, *shape: int, dtype: str = QUANTIZED) -> Value:
    """Return an input [1, *shape] of spectra, with bands on the last axis; samples are a stream."""
    # Loudness comes and goes, and neighbouring bands are loud together.
    steps, bands = _STREAM * prod(shape[:-1]), shape[-1]
    noise = graph.run.rng.normal(0, 1, (steps + 4, bands + 2))
    smooth = sum(noise[i : i + steps, j : j + bands] for i in range(5) for j in range(3))
    samples = np.clip(smooth / 3, -4, 4).astype(np.float32).reshape(_STREAM, *shape)
    return add_input(graph, "spectrum", samples, dtype, (-4.0, 4.0))


def numbers(graph: Graph, name: str, length: int, limit: int) -> Value:
    """Return an int32 input [1, length], such as words of a text; samples are below limit."""
    samples = graph.run.rng.integers(0, limit, (SAMPLES, length), np.int32)
    return add_input(graph, name, samples, "int32")


def mask(graph: Graph, length: int) -> Value:
    """Return an input [1, 1, 1, length] that is 1 up to the end of a text, and 0 after it."""
    ends = np.linspace(length / 2, length, SAMPLES).reshape(-1, 1, 1, 1)
    samples = (np.arange(length) < ends).astype(np.float32)
    return add_input(graph, "mask", samples, limits=(0.0, 1.0))


def quantized_constant(
    file: File, role: str, data: Real, quantization: Quantization | None = None
) -> int:
    """Add a constant of real values to a file, by default with a scale of its own."""
    kind = quantization or file.style.activation(float(data.min()), float(data.max()))
    encoding = Encoding(float(kind.scale[0]), int(kind.zero_point[0]), file.style.dtype)
    return file.constant(role, quantize_array(data, encoding), kind)


def _written(array: np.ndarray) -> Write:
    """Return a function that writes a constant, quantized if its type is quantized."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        (kind,) = outputs
        if kind.quantization is None:
            index = file.constant("constant", array)
        else:
            index = quantized_constant(file, "constant", array, kind.quantization)
        return [replace(kind, index=index)]

    return write


def drawn(graph: Graph, shape: Shape, middle: float = 0.0, deviation: float = 1.0) -> Value:
    """Return a constant that is drawn like weights, the same for every sample."""
    array = graph.run.drawn(shape) * np.float32(deviation) + np.float32(middle)
    operator = Operator(lambda _: array, _written(array), QUANTIZED, is_constant=True)
    return graph.add(operator)[0]


def constant(graph: Graph, values: np.ndarray, dtype: str = QUANTIZED) -> Value:
    """Return a constant, the same for every sample: real values, or values of a dtype."""
    array = np.asarray(values, np.float32 if dtype == QUANTIZED else np.dtype(dtype))
    limits = min(0.0, float(array.min())), max(0.0, float(array.max()))
    written = _written(array)
    return graph.add(Operator(lambda _: array, written, dtype, limits=limits, is_constant=True))[0]


def TransposeConv(channels: int, kernel: tuple[int, int] = (2, 2)) -> Operator:
    """Return a transposed convolution to twice the height and width, with SAME padding."""
    compute = drawn_layer(
        (*kernel, -1, channels),
        lambda x, drawn: _transpose_conv2d(x, drawn, 2),
        lambda kernel: kernel.transpose(3, 0, 1, 2),
    )

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        shape = file.constant("shape", np.array(outputs[0].shape, np.int32))
        kernel, bias = file.kernel_and_bias(inputs[0], 0 if file.style.per_axis else None)
        options = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
        return file.layer(
            "TRANSPOSE_CONV", [shape, kernel, inputs[0].index, bias], outputs, **options
        )

    return Operator(compute, write)


def Expectation() -> Operator:
    """Return the mean index of each distribution along the last axis, which becomes 1.

    It is a convolution with the indices as weights.
    """

    def compute(run: FloatRun, x: np.ndarray) -> np.ndarray:
        indices = np.arange(x.shape[3], dtype=np.float32)
        run.weights = Weights(indices[None, None, None], np.zeros(1, np.float32))
        return x @ indices[:, None]

    return Operator(compute, weighted("CONV_2D", 0, padding="VALID", stride_w=1, stride_h=1))


def Dense(units: int, activation: str = "NONE") -> Operator:
    """Return a dense layer on the last axis, with bias; for float32 data a hybrid one."""
    compute = drawn_layer(
        (-1, units), lambda x, drawn: x @ drawn, lambda kernel: kernel.T, activation
    )
    options: dict[str, Any] = {"fused_activation_function": activation, "keep_num_dims": True}
    return Operator(compute, weighted("FULLY_CONNECTED", **options))


def MatMul(is_transposed: bool = False) -> Operator:
    """Return a product of matrices; the columns of the second may be stored as rows."""

    def compute(_: FloatRun, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        return lhs @ (np.swapaxes(rhs, -1, -2) if is_transposed else rhs)

    return Operator(compute, plain("BATCH_MATMUL", {"adj_x": False, "adj_y": is_transposed}, {}))


def _transpose_conv2d(x: Real, kernel: Real, stride: int) -> Real:
    """Transpose-convolve x [N, H, W, I] with a kernel [KH, KW, I, O]; it grows by `stride`."""
    kernel_height, kernel_width, _, channels = kernel.shape
    batch, height, width, _ = x.shape
    tall, wide = (height - 1) * stride + 1, (width - 1) * stride + 1
    whole = np.zeros((batch, tall + kernel_height, wide + kernel_width, channels), np.float32)
    for row in range(kernel_height):
        for column in range(kernel_width):
            part = whole[:, row : row + tall : stride, column : column + wide : stride]
            part += x @ kernel[row, column]
    # SAME cuts this off at the edges; an odd row or column is cut at the end.
    top, left = (max(0, extent - stride) // 2 for extent in kernel.shape[:2])
    part = whole[:, top : top + height * stride, left : left + width * stride]
    return np.ascontiguousarray(part)
