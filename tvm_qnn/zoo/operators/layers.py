"""The inputs of networks (pictures, texts, constants), and their layers with weights."""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.zoo import float_ops, images
from tvm_qnn.zoo.file import QUANTIZED, File, Shape, Tensor
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Graph, Operator, Range, Tensors, Value, Write, plain
from tvm_qnn.zoo.images import PICTURES

_SAMPLES = images.PICTURES + 1  # pictures, and one sample of noise
_STREAM = 64  # steps of a stream


def _input(
    graph: Graph,
    name: str,
    samples: np.ndarray,
    dtype: str = QUANTIZED,
    limits: Range | None = None,
) -> Value:
    """Add an input of the model, with its samples."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        file.inputs.append(file.tensor(name, outputs[0]))
        return file.inputs[-1:]

    return graph.add(Operator(lambda _: samples, write, dtype, limits=limits))[0]


def pictures(graph: Graph, size: int) -> Value:
    """Return an input [1, size, size, 3] of pictures; their real values are (pixel - 128) / 128."""
    drawn = images.pictures(range(images.PICTURES), size)
    pixels = np.concatenate([drawn, images.noise(0, size)[None]])
    samples = (pixels.astype(np.float32) - np.float32(128)) / np.float32(128)
    return _input(graph, "input", samples, limits=(-1.0, 127 / 128))


def spectra(graph: Graph, *shape: int, dtype: str = QUANTIZED) -> Value:
    """Return an input [1, *shape] of spectra, with bands on the last axis; samples are a stream."""
    # Loudness comes and goes, and neighbouring bands are loud together.
    steps, bands = _STREAM * prod(shape[:-1]), shape[-1]
    noise = graph.run.rng.normal(0, 1, (steps + 4, bands + 2))
    smooth = sum(noise[i : i + steps, j : j + bands] for i in range(5) for j in range(3))
    samples = np.clip(smooth / 3, -4, 4).astype(np.float32).reshape(_STREAM, *shape)
    return _input(graph, "spectrum", samples, dtype, (-4.0, 4.0))


def numbers(graph: Graph, name: str, length: int, limit: int) -> Value:
    """Return an int32 input [1, length], such as words of a text; samples are below limit."""
    samples = graph.run.rng.integers(0, limit, (_SAMPLES, length), np.int32)
    return _input(graph, name, samples, "int32")


def mask(graph: Graph, length: int) -> Value:
    """Return an input [1, 1, 1, length] that is 1 up to the end of a text, and 0 after it."""
    ends = np.linspace(length / 2, length, _SAMPLES).reshape(-1, 1, 1, 1)
    samples = (np.arange(length) < ends).astype(np.float32)
    return _input(graph, "mask", samples, limits=(0.0, 1.0))


def _written(array: np.ndarray) -> Write:
    """Return a function that writes a constant, quantized if its type is quantized."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        (kind,) = outputs
        if kind.quantization is None:
            index = file.constant("constant", array)
        else:
            index = file.quantized_constant("constant", array, kind.quantization)
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


# Logits: other classes scatter by _SCATTER, a picture's own class exceeds them by _PEAK. Without
# the scatter, all logits of a picture without a class would be equal, and TFLite's reference
# SOFTMAX cannot take 512 equal ones.
_SCATTER = 1.5
_PEAK = 12.0


def _weighted(code: str, axis: int | None = None, **options: Any) -> Write:
    """Return a function that writes a layer with kernel and bias; `axis` holds the channels."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        (x,) = inputs
        if x.quantization is None:
            weights = file.hybrid_kernel_and_bias()
        else:
            weights = file.kernel_and_bias(x, axis if file.style.per_axis else None)
        return file.layer(code, [x.index, *weights], outputs, **options)

    return write


def _computed(
    shape: tuple[int, ...],
    layer: Callable[[np.ndarray, np.ndarray], np.ndarray],
    laid_out: Callable[[np.ndarray], np.ndarray],
    activation: str = "NONE",
) -> Callable[[FloatRun, np.ndarray], np.ndarray]:
    """Return a function that draws a kernel, computes the layer and normalises its result.

    Args:
        shape: the kernel's shape; -1 stands for the input's channels.
        layer: computes the layer from an input and a kernel.
        laid_out: converts a kernel to TFLite's layout.
        activation: "NONE", "RELU" or "RELU6".
    """

    def compute(run: FloatRun, x: np.ndarray) -> np.ndarray:
        drawn = run.drawn(tuple(x.shape[-1] if size < 0 else size for size in shape))
        y = layer(x, drawn)
        factor, bias = run.normalise(y, activation)
        run.weights = Weights(laid_out(drawn * factor), bias)
        return y

    return compute


def _window(stride: int, padding: str, activation: str, **more: Any) -> dict[str, Any]:
    strides = {"padding": padding, "stride_w": stride, "stride_h": stride}
    return {**strides, **more, "fused_activation_function": activation}


def Conv(
    channels: int,
    kernel: tuple[int, int],
    stride: int = 1,
    padding: str = "SAME",
    activation: str = "RELU",
) -> Operator:
    """Return a convolution of [N, H, W, C] with bias.

    Args:
        channels: the output's channels.
        kernel: the kernel's height and width.
        stride: the stride in both directions.
        padding: "SAME" or "VALID".
        activation: "NONE", "RELU" or "RELU6".
    """
    compute = _computed(
        (*kernel, -1, channels),
        lambda x, drawn: float_ops.conv2d(x, drawn, stride, padding),
        lambda kernel: kernel.transpose(3, 0, 1, 2),
        activation,
    )
    return Operator(compute, _weighted("CONV_2D", 0, **_window(stride, padding, activation)))


def Depthwise(
    kernel: tuple[int, int], stride: int = 1, activation: str = "RELU6", padding: str = "SAME"
) -> Operator:
    """Return a convolution of each channel by itself; the arguments are those of `Conv`."""
    compute = _computed(
        (*kernel, -1),
        lambda x, drawn: float_ops.depthwise_conv2d(x, drawn, stride, padding),
        lambda kernel: kernel[None],
        activation,
    )
    options = _window(stride, padding, activation, depth_multiplier=1)
    return Operator(compute, _weighted("DEPTHWISE_CONV_2D", 3, **options))


def TransposeConv(channels: int, kernel: tuple[int, int] = (2, 2)) -> Operator:
    """Return a transposed convolution to twice the height and width, with SAME padding."""
    compute = _computed(
        (*kernel, -1, channels),
        lambda x, drawn: float_ops.transpose_conv2d(x, drawn, 2),
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

    return Operator(compute, _weighted("CONV_2D", 0, padding="VALID", stride_w=1, stride_h=1))


def Dense(units: int, activation: str = "NONE") -> Operator:
    """Return a dense layer on the last axis, with bias; for float32 data a hybrid one."""
    compute = _computed(
        (-1, units), lambda x, drawn: x @ drawn, lambda kernel: kernel.T, activation
    )
    options: dict[str, Any] = {"fused_activation_function": activation, "keep_num_dims": True}
    return Operator(compute, _weighted("FULLY_CONNECTED", **options))


def Classify(units: int) -> Operator:
    """Return a classifier's last layer: [N, C] to [N, units], a class for each picture.

    Its random weights are corrected as little as possible, so that each picture gets its class.

    Raises:
        QnnError: if there are fewer classes than pictures.
    """
    if units < PICTURES:
        raise QnnError(f"needs at least {PICTURES} classes, got {units}")

    def compute(run: FloatRun, x: np.ndarray) -> np.ndarray:
        mean: np.ndarray = x.mean(0)
        # float32, though the types of newer numpy say that a mean is float64.
        centred: np.ndarray = x - mean
        drawn = run.drawn((x.shape[1], units))
        drawn *= np.float32(_SCATTER / np.sqrt(centred.var(0).sum()))
        base = run.rng.normal(0, _SCATTER, units).astype(np.float32)
        wanted = centred @ drawn
        wanted[np.arange(PICTURES), run.picture_classes] = (
            base.max() + _PEAK - base[run.picture_classes]
        )
        gram = centred @ centred.T
        gram += 1e-3 * gram.trace() / len(gram) * np.eye(len(gram), dtype=np.float32)
        kernel = drawn + centred.T @ np.linalg.solve(gram, wanted - centred @ drawn)
        bias = base - mean @ kernel
        run.weights = Weights(kernel.T, bias)
        return x @ kernel + bias

    return Operator(compute, _weighted("FULLY_CONNECTED"))


def MatMul(is_transposed: bool = False) -> Operator:
    """Return a product of matrices; the columns of the second may be stored as rows."""

    def compute(_: FloatRun, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        return lhs @ (np.swapaxes(rhs, -1, -2) if is_transposed else rhs)

    return Operator(compute, plain("BATCH_MATMUL", {"adj_x": False, "adj_y": is_transposed}, {}))
