"""An operator's float32 results equal those of the file that it writes, in LiteRT."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.tflite_zoo.functions import (
    ArgMax,
    Cast,
    Dequantize,
    Div,
    Embed,
    FloorDiv,
    FloorMod,
    GatherNd,
    Gelu,
    HardSwish,
    Logistic,
    Mul,
    Pack,
    Pad,
    Reshape,
    ResizeBilinear,
    ResizeNearest,
    Rsqrt,
    Slice,
    Split,
    Sqrt,
    SquaredDifference,
    Sub,
    Transpose,
)
from benchmarks.tflite_zoo.layers import (
    Dense,
    Expectation,
    MatMul,
    TransposeConv,
    constant,
    drawn,
    spectra,
)
from benchmarks.tflite_zoo.memories import Lstm, Past, Svdf
from frontends.tflite.model import Tensor
from frontends.tflite.reader import read_model
from tvm_qnn.oracle import litert_runs, litert_tensors
from tvm_qnn.zoo import images
from tvm_qnn.zoo.file import QUANTIZED, STYLES
from tvm_qnn.zoo.graph import Graph, Value, emit
from tvm_qnn.zoo.operators import (
    Add,
    AvgPool,
    Concat,
    Conv,
    Depthwise,
    MaxPool,
    Mean,
    Softmax,
    pictures,
)

SIZE, CLASSES, SEED = 8, 20, 5

_Build = Callable[[Value], Value]


def _places(x: Value) -> Value:
    best = ArgMax(1)(Reshape((-1, 3))(x))
    width = constant(x.graph, np.array(SIZE), "int32")
    y = FloorDiv()(best, width)
    none = constant(x.graph, np.zeros((1, 3)), "int32")
    return GatherNd()(x, Pack()(none, y, Sub()(best, Mul()(y, width))))


def _in_float32(x: Value) -> Value:
    y = Dequantize()(x)
    y = Sqrt()(Mul()(y, y))
    return Div()(y, Add()(y, constant(x.graph, np.array(2.0), "float32")))


def _attention(x: Value) -> Value:
    rows = Reshape((4, -1, 3))(x)
    return MatMul()(Softmax()(MatMul(is_transposed=True)(rows, rows)), rows)


def _variance(x: Value) -> Value:
    mean = Mean((3,), keep_dims=True)(x)
    squares = Mean((3,), keep_dims=True)(SquaredDifference()(x, mean))
    return Rsqrt()(Add()(squares, constant(x.graph, np.array([0.2]))))


def _rows_of_a_table(x: Value) -> Value:
    best = Reshape((-1,))(ArgMax(3)(x))
    return Embed(2, 5)(FloorMod()(best, constant(x.graph, np.array([2]), "int32")))


CASES: dict[str, _Build] = {
    "Dense": Dense(5, "RELU"),
    "attention": _attention,
    "variance": _variance,
    "Gelu": Gelu(),
    "drawn": lambda x: Mul()(x, drawn(x.graph, (3,), 1.0, 0.2)),
    "rows of a table": _rows_of_a_table,
    "Pad along rows": Pad(1, 2, (1,)),
    "Conv": Conv(5, (3, 3), 2, "VALID", "RELU6"),
    "Depthwise": Depthwise((5, 5), 2),
    "TransposeConv 2": TransposeConv(5),
    "TransposeConv 3": TransposeConv(5, (3, 3)),
    "TransposeConv 4": TransposeConv(5, (4, 4)),
    "Expectation": lambda x: Expectation()(Softmax()(x)),
    "MaxPool": MaxPool(5, 1, "SAME"),
    "AvgPool": AvgPool(3, 2),
    "Concat": lambda x: Concat()(x, Logistic()(x), Conv(2, (1, 1))(x)),
    "Add": lambda x: Add("RELU")(x, constant(x.graph, np.array([1.0, -1.0, 0.5]))),
    "Sub": lambda x: Sub()(x, constant(x.graph, np.array(0.5))),
    "Mul": lambda x: Mul()(x, Mean(keep_dims=True)(x)),
    "HardSwish": lambda x: HardSwish()(Mul()(x, constant(x.graph, np.array(5.0)))),
    "Logistic": Logistic(),
    "Softmax": Softmax(),
    "Reshape": Reshape((-1, SIZE)),
    "Transpose": Transpose((0, 3, 1, 2)),
    "Split": lambda x: Split(2, 1).outputs(x)[1],
    "Slice": Slice((1, 2, 0), (5, 3, 2)),
    "Pad": Pad(1, 2),
    "ResizeNearest": ResizeNearest(),
    "ResizeBilinear": ResizeBilinear(),
    "places": _places,
    "float32": _in_float32,
    "Cast": lambda x: Cast()(ArgMax(3)(x)),
}


# Those that LiteRT has not for uint8.
SIGNED = ("attention", "variance")


@pytest.mark.parametrize(
    ("case", "style"),
    [
        (case, style)
        for style in ("uint8", "int8_per_axis")
        for case in CASES
        if style != "uint8" or case not in SIGNED
    ],
)
def test_what_is_written_computes_what_was_computed(case: str, style: str) -> None:
    graph = Graph(CLASSES, SEED)
    expected = CASES[case](pictures(graph, SIZE))
    graph.results = (expected.kind,)
    content = emit(case, graph, STYLES[style])
    model = read_model(content)
    output = model.tensors[model.outputs[0]]
    for number in (0, 1):
        data = images.as_input(images.picture(number, SIZE), STYLES[style].dtype)[None]
        result = litert_tensors(content, [data])[model.outputs[0]]
        step = 1e-3
        if output.quantization is not None:
            step = float(output.quantization.scale[0])
            result = (result - float(output.quantization.zero_point[0])) * step
        assert result.shape == expected.shape
        error = np.abs(result[0] - expected.array[number])
        assert error.mean() < max(2 * step, 0.01 * np.abs(expected.array).max())


STREAMS: dict[str, tuple[_Build, tuple[int, ...], str]] = {
    "Past": (Past(3), (1, 6), QUANTIZED),
    "Svdf": (Svdf(5, 4, 2), (9,), QUANTIZED),
    "Lstm": (Lstm(6), (4, 5), QUANTIZED),
    "hybrid": (lambda x: Dense(3)(Lstm(6)(x)), (4, 5), "float32"),
}


@pytest.mark.parametrize("case", STREAMS)
def test_what_is_written_remembers_as_what_was_computed(case: str) -> None:
    build, shape, dtype = STREAMS[case]
    graph = Graph(CLASSES, SEED)
    data = spectra(graph, *shape, dtype=dtype)
    expected = build(data)
    graph.results = (expected.kind,)
    content = emit(case, graph, STYLES["int8_per_axis"])
    model = read_model(content)
    stream = [[_quantized(each[None], model.tensors[model.inputs[0]])] for each in data.array]
    results = np.stack([run[model.outputs[0]][0] for run in litert_runs(content, stream)])
    step, output = 0.01, model.tensors[model.outputs[0]].quantization
    if output is not None:
        step = float(output.scale[0])
        results = (results - float(output.zero_point[0])) * step
    assert np.abs(results - expected.array).mean() < 2 * step


def _quantized(real: np.ndarray, tensor: Tensor) -> np.ndarray:
    if tensor.quantization is None:
        return real
    steps = np.rint(real / tensor.quantization.scale[0]) + tensor.quantization.zero_point[0]
    return np.clip(steps, -128, 127).astype(np.int8)
