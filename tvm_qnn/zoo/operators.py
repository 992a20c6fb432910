"""The operators of classifiers: each one computes in float32, and writes itself to a file."""

from collections.abc import Callable
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.zoo import float_ops, images
from tvm_qnn.zoo.file import QUANTIZED, File, Tensor
from tvm_qnn.zoo.float_run import FloatRun, Weights, clamped
from tvm_qnn.zoo.graph import Graph, Operator, Range, Tensors, Value, Write, plain
from tvm_qnn.zoo.images import PICTURES

SAMPLES = PICTURES + 1  # pictures, and one sample of noise


def add_input(
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
    drawn = images.pictures(range(PICTURES), size)
    pixels = np.concatenate([drawn, images.noise(0, size)[None]])
    samples = (pixels.astype(np.float32) - np.float32(128)) / np.float32(128)
    return add_input(graph, "input", samples, limits=(-1.0, 127 / 128))


# Logits: other classes scatter by _SCATTER, a picture's own class exceeds them by _PEAK. Without
# the scatter, all logits of a picture without a class would be equal, and TFLite's reference
# SOFTMAX cannot take 512 equal ones.
_SCATTER = 1.5
_PEAK = 12.0


def weighted(code: str, axis: int | None = None, **options: Any) -> Write:
    """Return a function that writes a layer with kernel and bias; `axis` holds the channels."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        (x,) = inputs
        if x.quantization is None:
            weights = file.hybrid_kernel_and_bias()
        else:
            weights = file.kernel_and_bias(x, axis if file.style.per_axis else None)
        return file.layer(code, [x.index, *weights], outputs, **options)

    return write


def drawn_layer(
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
    compute = drawn_layer(
        (*kernel, -1, channels),
        lambda x, drawn: float_ops.conv2d(x, drawn, stride, padding),
        lambda kernel: kernel.transpose(3, 0, 1, 2),
        activation,
    )
    return Operator(compute, weighted("CONV_2D", 0, **_window(stride, padding, activation)))


def Depthwise(
    kernel: tuple[int, int], stride: int = 1, activation: str = "RELU6", padding: str = "SAME"
) -> Operator:
    """Return a convolution of each channel by itself; the arguments are those of `Conv`."""
    compute = drawn_layer(
        (*kernel, -1),
        lambda x, drawn: float_ops.depthwise_conv2d(x, drawn, stride, padding),
        lambda kernel: kernel[None],
        activation,
    )
    options = _window(stride, padding, activation, depth_multiplier=1)
    return Operator(compute, weighted("DEPTHWISE_CONV_2D", 3, **options))


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

    return Operator(compute, weighted("FULLY_CONNECTED"))


def Add(activation: str = "NONE") -> Operator:
    """Return the sum of two values, of which either may be broadcast."""
    # Scales of an int16 ADD may be any number, not only powers of two.
    options = {"fused_activation_function": activation, "pot_scale_int16": False}
    return Operator(lambda _, x, y: clamped(x + y, activation), plain("ADD", options, {}))


def Concat(axis: int = 3) -> Operator:
    """Return an operator that joins values along an axis other than the first.

    A QUANTIZE precedes it if a signed input has a prescribed scale.
    """
    joined = plain("CONCATENATION", {"axis": axis}, {})

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        if file.style.dtype != "uint8":
            inputs = [file.requantized(x, outputs[0].quantization) for x in inputs]
        return joined(file, inputs, outputs)

    return Operator(lambda _, *arrays: np.concatenate(arrays, axis=axis), write, joins=True)


def Mean(axes: tuple[int, ...] = (1, 2), keep_dims: bool = False) -> Operator:
    """Return the mean over some axes; by default height and width of pictures."""
    write = plain("MEAN", {"keep_dims": keep_dims}, {"axes": axes})
    return Operator(lambda _, x: x.mean(axes, keepdims=keep_dims), write)


def _pool(code: str, pool: Callable[..., np.ndarray]) -> Callable[..., Operator]:
    """Return a function that makes pools; size and stride hold for both directions."""

    def make(size: int, stride: int, padding: str = "VALID") -> Operator:
        strides = {"stride_w": stride, "stride_h": stride}
        options = {"padding": padding, **strides, "filter_width": size, "filter_height": size}
        write = plain(code, options, {})
        return Operator(lambda _, x: pool(x, size, stride, padding), write, same_scale=True)

    return make


MaxPool = _pool("MAX_POOL_2D", float_ops.max_pool2d)
AvgPool = _pool("AVERAGE_POOL_2D", float_ops.avg_pool2d)


def Softmax() -> Operator:
    """Return the probabilities of logits along the last axis."""

    def compute(_: FloatRun, x: np.ndarray) -> np.ndarray:
        powers: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    return Operator(compute, plain("SOFTMAX", {"beta": 1.0}, {}), lowest=0.0)
