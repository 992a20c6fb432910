"""Operators without weights: functions, moves, and the end of a detector."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.tflite_zoo.layers import quantized_constant
from tvm_qnn.zoo.file import QUANTIZED, File, Tensor
from tvm_qnn.zoo.float_run import FloatRun, Weights, clamped
from tvm_qnn.zoo.graph import Operator, Tensors, plain

Make = Callable[..., Operator]


def _function(
    code: str,
    function: Callable[..., Any],
    *,
    dtype: str | None = None,
    lowest: float | None = None,
    **options: Any,
) -> Make:
    """Return a function that makes operators on one value, or on several."""
    compute, write = (lambda _, *arrays: function(*arrays)), plain(code, options, {})
    return lambda: Operator(compute, write, dtype, lowest=lowest)


def _pair(code: str, function: Callable[..., Any], **options: Any) -> Make:
    """Return a function that makes operators on two values; either may be broadcast.

    Its argument is the activation: "NONE", "RELU" or "RELU6".
    """

    def make(activation: str = "NONE") -> Operator:
        write = plain(code, {"fused_activation_function": activation, **options}, {})
        return Operator(lambda _, *arrays: clamped(function(*arrays), activation), write)

    return make


HardSwish = _function("HARD_SWISH", lambda x: x * np.clip(x + 3, 0, 6) / np.float32(6))
Logistic = _function("LOGISTIC", lambda x: 1 / (1 + np.exp(-x)), lowest=0.0)
Sqrt = _function("SQRT", np.sqrt)
Rsqrt = _function("RSQRT", lambda x: 1 / np.sqrt(x))
Gelu = _function(
    "GELU",
    lambda x: x * (1 + np.tanh(np.float32(0.7978846) * (x + 0.044715 * x**3))) / 2,
    approximate=True,
)
Dequantize = _function("DEQUANTIZE", lambda x: x, dtype="float32")
Cast = _function(
    *("CAST", lambda x: x.astype(np.float32)),
    dtype="float32",
    in_data_type="int32",
    out_data_type="float32",
)

Sub = _pair("SUB", np.subtract)
Mul = _pair("MUL", np.multiply)
Div = _pair("DIV", np.divide)
FloorDiv = _function("FLOOR_DIV", np.floor_divide)
FloorMod = _function("FLOOR_MOD", np.mod)
SquaredDifference = _function("SQUARED_DIFFERENCE", lambda x, y: np.square(x - y))


def Embed(words: int, depth: int) -> Operator:
    """Return an operator that looks up rows [depth] in a table of words, by their indices."""

    def compute(run: FloatRun, numbers: np.ndarray) -> np.ndarray:
        table = run.drawn((words, depth))
        run.weights = Weights(table, np.zeros(0, np.float32))
        return table[numbers]

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        assert file.weights is not None
        table = quantized_constant(file, "table", file.weights.kernel, outputs[0].quantization)
        return file.layer("GATHER", [table, inputs[0].index], outputs, axis=0)

    return Operator(compute, write, QUANTIZED)


def Reshape(shape: tuple[int, ...]) -> Operator:
    """Return an operator that gives each sample another shape; one size may be -1."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        whole = np.array(outputs[0].shape, np.int32)
        return plain("RESHAPE", {"new_shape": whole}, {"shape": whole})(file, inputs, outputs)

    return Operator(lambda _, x: x.reshape(len(x), *shape), write, same_scale=True)


def Transpose(order: tuple[int, ...]) -> Operator:
    """Return an operator that permutes the axes; the first one stays."""
    write = plain("TRANSPOSE", {}, {"order": order})
    return Operator(lambda _, x: x.transpose(order), write, same_scale=True)


def Split(parts: int, axis: int = 3) -> Operator:
    """Return an operator that cuts equal parts along an axis; `outputs` adds all of them."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        operands = [file.constant("axis", np.array(axis, np.int32)), inputs[0].index]
        return file.layer("SPLIT", operands, outputs, num_splits=parts)

    return Operator(lambda _, x: np.split(x, parts, axis), write, same_scale=True)


def Slice(begin: tuple[int, ...], size: tuple[int, ...]) -> Operator:
    """Return an operator that takes `size` elements from `begin` on, except for the first axis."""
    ends = (slice(b, b + n) for b, n in zip(begin, size, strict=True))
    part = (slice(None), *ends)
    write = plain("SLICE", {}, {"begin": (0, *begin), "size": (1, *size)})
    return Operator(lambda _, x: x[part], write, same_scale=True)


def Pad(before: int, after: int, axes: tuple[int, ...] = (1, 2)) -> Operator:
    """Return an operator that pads pictures, or other axes, with zeros."""

    def amounts(rank: int) -> list[tuple[int, int]]:
        return [(before, after) if axis in axes else (0, 0) for axis in range(rank)]

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        constants = {"paddings": amounts(len(inputs[0].shape))}
        return plain("PAD", {}, constants)(file, inputs, outputs)

    return Operator(lambda _, x: np.pad(x, amounts(x.ndim)), write, same_scale=True)


def Pack() -> Operator:
    """Return an operator that stacks values of equal shape on a new last axis."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        options = {"values_count": len(inputs), "axis": len(inputs[0].shape)}
        return plain("PACK", options, {})(file, inputs, outputs)

    def compute(_: FloatRun, *arrays: np.ndarray) -> np.ndarray:
        return np.stack(np.broadcast_arrays(*arrays), -1)

    return Operator(compute, write, same_scale=True)


def ArgMax(axis: int) -> Operator:
    """Return an operator that finds the index of the largest value, and drops the axis."""
    write = plain("ARG_MAX", {"output_type": "int32"}, {"axis": axis})
    return Operator(lambda _, x: x.argmax(axis).astype(np.int32), write, "int32")


def GatherNd() -> Operator:
    """Return an operator that takes elements at int32 indices [1, count, axes]; the first is 0."""

    def compute(_: FloatRun, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
        pairs = zip(data, indices, strict=True)
        return np.stack([x[tuple(at.T[1:])] for x, at in pairs])

    return Operator(compute, plain("GATHER_ND", {}, {}), same_scale=True)


def _resize(code: str, resize: Callable[[np.ndarray], np.ndarray]) -> Callable[[], Operator]:
    """Return a function that makes operators that double the height and width of pictures."""

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        constants: dict[str, Any] = {"size": outputs[0].shape[1:3]}
        return plain(code, {"half_pixel_centers": True}, constants)(file, inputs, outputs)

    return lambda: Operator(lambda _, x: resize(x), write, same_scale=True)


def _mixed(y: np.ndarray) -> np.ndarray:
    """Interpolate on each axis: 3/4 of the nearer pixel and 1/4 of the other."""
    for axis in (1, 2):
        last = y.shape[axis] - 1
        indices = np.arange(last + 1)
        before = y.take(np.maximum(indices - 1, 0), axis)
        after = y.take(np.minimum(indices + 1, last), axis)
        mixed = np.stack([0.75 * y + 0.25 * before, 0.75 * y + 0.25 * after], axis + 1)
        y = mixed.reshape((*y.shape[:axis], 2 * y.shape[axis], *y.shape[axis + 1 :]))
    return y


ResizeNearest = _resize("RESIZE_NEAREST_NEIGHBOR", lambda x: x.repeat(2, 1).repeat(2, 2))
ResizeBilinear = _resize("RESIZE_BILINEAR", _mixed)


_MOST = 10
_SHAPES = ((1, _MOST, 4), (1, _MOST), (1, _MOST), (1,))


def Detect(anchors: np.ndarray) -> Operator:
    """Return the best of boxes [1, count, 4] by scores [1, count, classes, the first background].

    It adds boxes [1, 10, 4], their classes and scores [1, 10], and their number [1]. It must be the
    last operator, since it computes nothing in a float run. Signed models pass it float32, as their
    converter does.

    Args:
        anchors: float32 [count, 4]: centre y and x, height and width of each box before shifts.
    """

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        if file.style.dtype == "uint8":
            stored = quantized_constant(file, "anchors", anchors)
        else:
            inputs = [
                file.layer("DEQUANTIZE", [x.index], [Tensor(x.shape, "float32")])[0] for x in inputs
            ]
            stored = file.constant("anchors", anchors)
        operands = [*(x.index for x in inputs), stored]
        options: dict[str, Any] = {
            "max_detections": _MOST,
            "max_classes_per_detection": 1,
            "detections_per_class": 100,
            "use_regular_nms": False,
            "nms_score_threshold": 1e-8,
            "nms_iou_threshold": 0.6,
            "num_classes": inputs[1].shape[2] - 1,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
        }
        return file.layer("CUSTOM:TFLite_Detection_PostProcess", operands, outputs, **options)

    zeros = [np.zeros(shape, np.float32) for shape in _SHAPES]
    return Operator(lambda _, *arrays: zeros, write, "float32")
