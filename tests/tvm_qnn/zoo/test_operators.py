"""An operator's float32 results equal those of the file that it writes, in LiteRT."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from frontends.tflite.model import Tensor
from frontends.tflite.reader import read_model
from tvm_qnn.oracle import litert_runs, litert_tensors
from tvm_qnn.zoo import images
from tvm_qnn.zoo import operators as ops
from tvm_qnn.zoo.calibrate import calibrate
from tvm_qnn.zoo.emit import emit
from tvm_qnn.zoo.file import STYLES
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Graph, Value

SIZE, CLASSES, SEED = 8, 20, 5

_Build = Callable[[Value], Value]


def _places(x: Value) -> Value:
    best = ops.ArgMax(1)(ops.Reshape((-1, 3))(x))
    width = ops.constant(x.graph, np.array(SIZE), "int32")
    y = ops.FloorDiv()(best, width)
    none = ops.constant(x.graph, np.zeros((1, 3)), "int32")
    return ops.GatherNd()(x, ops.Pack()(none, y, ops.Sub()(best, ops.Mul()(y, width))))


def _in_float32(x: Value) -> Value:
    y = ops.Dequantize()(x)
    y = ops.Sqrt()(ops.Mul()(y, y))
    return ops.Div()(y, ops.Add()(y, ops.constant(x.graph, np.array(2.0), "float32")))


def _attention(x: Value) -> Value:
    rows = ops.Reshape((4, -1, 3))(x)
    return ops.MatMul()(ops.Softmax()(ops.MatMul(is_transposed=True)(rows, rows)), rows)


def _variance(x: Value) -> Value:
    mean = ops.Mean((3,), keep_dims=True)(x)
    squares = ops.Mean((3,), keep_dims=True)(ops.SquaredDifference()(x, mean))
    return ops.Rsqrt()(ops.Add()(squares, ops.constant(x.graph, np.array([0.2]))))


def _rows_of_a_table(x: Value) -> Value:
    best = ops.Reshape((-1,))(ops.ArgMax(3)(x))
    return ops.Embed(2, 5)(ops.FloorMod()(best, ops.constant(x.graph, np.array([2]), "int32")))


CASES: dict[str, _Build] = {
    "Dense": ops.Dense(5, "RELU"),
    "attention": _attention,
    "variance": _variance,
    "Gelu": ops.Gelu(),
    "drawn": lambda x: ops.Mul()(x, ops.drawn(x.graph, (3,), 1.0, 0.2)),
    "rows of a table": _rows_of_a_table,
    "Pad along rows": ops.Pad(1, 2, (1,)),
    "Conv": ops.Conv(5, (3, 3), 2, "VALID", "RELU6"),
    "Depthwise": ops.Depthwise((5, 5), 2),
    "TransposeConv 2": ops.TransposeConv(5),
    "TransposeConv 3": ops.TransposeConv(5, (3, 3)),
    "TransposeConv 4": ops.TransposeConv(5, (4, 4)),
    "Expectation": lambda x: ops.Expectation()(ops.Softmax()(x)),
    "MaxPool": ops.MaxPool(5, 1, "SAME"),
    "AvgPool": ops.AvgPool(3, 2),
    "Concat": lambda x: ops.Concat()(x, ops.Logistic()(x), ops.Conv(2, (1, 1))(x)),
    "Add": lambda x: ops.Add("RELU")(x, ops.constant(x.graph, np.array([1.0, -1.0, 0.5]))),
    "Sub": lambda x: ops.Sub()(x, ops.constant(x.graph, np.array(0.5))),
    "Mul": lambda x: ops.Mul()(x, ops.Mean(keep_dims=True)(x)),
    "HardSwish": lambda x: ops.HardSwish()(ops.Mul()(x, ops.constant(x.graph, np.array(5.0)))),
    "Logistic": ops.Logistic(),
    "Softmax": ops.Softmax(),
    "Reshape": ops.Reshape((-1, SIZE)),
    "Transpose": ops.Transpose((0, 3, 1, 2)),
    "Split": lambda x: ops.Split(2, 1).outputs(x)[1],
    "Slice": ops.Slice((1, 2, 0), (5, 3, 2)),
    "Pad": ops.Pad(1, 2),
    "ResizeNearest": ops.ResizeNearest(),
    "ResizeBilinear": ops.ResizeBilinear(),
    "places": _places,
    "float32": _in_float32,
    "Cast": lambda x: ops.Cast()(ops.ArgMax(3)(x)),
}


def _computed(graph: Graph) -> dict[int, np.ndarray]:
    """Return the values of all samples by their numbers."""
    run = FloatRun(rng := np.random.default_rng(SEED), rng.permutation(CLASSES)[: images.PICTURES])
    arrays: dict[int, np.ndarray] = {}
    for node in graph.nodes:
        results = node.operator.compute(run, *(arrays[value.number] for value in node.inputs))
        arrays.update((v.number, array) for v, array in zip(node.outputs, results, strict=True))
    return arrays


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
    graph = Graph()
    graph.results = (CASES[case](ops.pictures(graph, SIZE)),)
    content = emit(case, graph, STYLES[style], calibrate(graph, CLASSES, SEED))
    model = read_model(content)
    output = model.tensors[model.outputs[0]]
    expected = _computed(graph)[graph.results[0].number]
    for number in (0, 1):
        data = images.as_input(images.picture(number, SIZE), STYLES[style].dtype)[None]
        result = litert_tensors(content, [data])[model.outputs[0]]
        step = 1e-3
        if output.quantization is not None:
            step = float(output.quantization.scale[0])
            result = (result - float(output.quantization.zero_point[0])) * step
        assert result.shape == graph.results[0].shape
        error = np.abs(result[0] - expected[number])
        assert error.mean() < max(2 * step, 0.01 * np.abs(expected).max())


STREAMS: dict[str, Callable[[Graph], Value]] = {
    "Past": lambda graph: ops.Past(3)(ops.spectra(graph, 1, 6)),
    "Svdf": lambda graph: ops.Svdf(5, 4, 2)(ops.spectra(graph, 9)),
    "Lstm": lambda graph: ops.Lstm(6)(ops.spectra(graph, 4, 5)),
    "hybrid": lambda graph: ops.Dense(3)(ops.Lstm(6)(ops.spectra(graph, 4, 5, dtype="float32"))),
}


@pytest.mark.parametrize("case", STREAMS)
def test_what_is_written_remembers_as_what_was_computed(case: str) -> None:
    graph = Graph()
    graph.results = (STREAMS[case](graph),)
    content = emit(case, graph, STYLES["int8_per_axis"], calibrate(graph, CLASSES, SEED))
    model = read_model(content)
    arrays = _computed(graph)
    samples, expected = (arrays[number] for number in (0, graph.results[0].number))
    stream = [[_quantized(each[None], model.tensors[model.inputs[0]])] for each in samples]
    results = np.stack([run[model.outputs[0]][0] for run in litert_runs(content, stream)])
    step, output = 0.01, model.tensors[model.outputs[0]].quantization
    if output is not None:
        step = float(output.scale[0])
        results = (results - float(output.zero_point[0])) * step
    assert np.abs(results - expected).mean() < 2 * step


def _quantized(real: np.ndarray, tensor: Tensor) -> np.ndarray:
    if tensor.quantization is None:
        return real
    steps = np.rint(real / tensor.quantization.scale[0]) + tensor.quantization.zero_point[0]
    return np.clip(steps, -128, 127).astype(np.int8)
