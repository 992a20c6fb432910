"""The zoo's models, in their tiny variants, judged by LiteRT."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pytest

from benchmarks import tflite_zoo
from frontends.tflite.model import Model, Tensor
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from tests.support.errors import failing
from tvm_qnn import zoo
from tvm_qnn.oracle import litert_runs, litert_tensors
from tvm_qnn.zoo import images

ALL_STYLES = (*zoo.STYLES, zoo.INT16_STYLE)
OTHERS = [(name, style) for name, style in tflite_zoo.MODELS if name not in zoo.NAMES]
TEXTS = ("mobilebert",)
SPOTTERS = ("ds_cnn_stream", "hybrid_lstm_spotter", "lstm_spotter", "svdf_spotter")
ALL_MODELS = [(name, style) for name in zoo.NAMES for style in ALL_STYLES]
DTYPES = {"uint8": "uint8", "int8": "int8", "int8_per_axis": "int8", "int16x8": "int16"}
DETECTION = "CUSTOM:TFLite_Detection_PostProcess"
AXES = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": None}


@lru_cache
def tiny(name: str, style: str) -> bytes:
    return tflite_zoo.build(name, style, tiny=True)


@lru_cache
def graph_of(name: str, style: str) -> Model:
    return read_model(tiny(name, style))


def codes_of(name: str, style: str) -> Counter[str]:
    return Counter(operator.code for operator in graph_of(name, style).operators)


def layers(graph: Model) -> Iterator[tuple[str, list[Tensor]]]:
    """Yield operators with weights, and their operands."""
    for operator in graph.operators:
        if operator.code in AXES:
            yield operator.code, [graph.tensors[index] for index in operator.inputs]


def encoding(tensor: Tensor) -> Quantization:
    assert tensor.quantization is not None
    return tensor.quantization


def run(model: bytes, pixels: np.ndarray, style: str) -> dict[int, np.ndarray]:
    return litert_tensors(model, [images.as_input(pixels, DTYPES[style])[None]])


def first_input(graph: Model) -> Tensor:
    return graph.tensors[graph.inputs[0]]


def run_pictures(model: bytes, style: str) -> list[dict[int, np.ndarray]]:
    size = first_input(read_model(model)).shape[1]
    return [run(model, pixels, style) for pixels in images.pictures(range(zoo.PICTURES), size)]


def check_range(values: np.ndarray, least: int, label: str) -> None:
    """Check that values use their range."""
    limits = np.iinfo(values.dtype)
    assert len(np.unique(values)) > least, label
    assert (values == limits.max).mean() < 0.05, label
    assert (values == limits.min).mean() < 0.5, label  # what a ReLU cuts off


def texts(graph: Model) -> list[list[np.ndarray]]:
    """Draw words, segments and masks."""
    rng = np.random.default_rng(6)
    size = first_input(graph).shape[1]
    found = []
    for end in (size, size - 3):
        mask = np.where(np.arange(size) < end, 127, -128).astype(np.int8)
        words = rng.integers(-100, 100, (2, 1, size), np.int32)
        found.append([*words, mask.reshape(1, 1, 1, size)])
    return found


def spectra(graph: Model) -> list[list[np.ndarray]]:
    """Draw a stream, longer than the memory of any layer."""
    rng = np.random.default_rng(7)
    shape = first_input(graph).shape
    if first_input(graph).dtype == "float32":
        return [[rng.normal(0, 1, shape).astype(np.float32)] for _ in range(48)]
    return [[rng.integers(-90, 90, shape).astype(np.int8)] for _ in range(48)]


@pytest.mark.parametrize(("name", "style"), ALL_MODELS)
def test_every_layer_is_alive_and_every_picture_has_its_own_class(name: str, style: str) -> None:
    graph = graph_of(name, style)
    (output,) = graph.outputs
    results = run_pictures(tiny(name, style), style)
    for index in results[0]:
        if index in (output, output - 1):
            continue  # logits and probabilities: only a few values should be large
        values = np.stack([result[index] for result in results])
        label = graph.tensors[index].name
        check_range(values, 40, label)
        assert values.std() > 8, label
        assert all(len(np.unique(values[i])) > 8 for i in range(len(values))), label
    classes = [int(result[output].argmax()) for result in results]
    assert len(set(classes)) == zoo.PICTURES


@pytest.mark.parametrize(("name", "style"), OTHERS)
def test_layers_of_other_networks_are_alive(name: str, style: str) -> None:
    model, graph = tiny(name, style), graph_of(name, style)
    if name in TEXTS:
        results = [litert_tensors(model, text) for text in texts(graph)]
    elif name in SPOTTERS:
        results = list(litert_runs(model, spectra(graph)))[-8:]
    else:
        results = run_pictures(model, style)
    for index, first in results[0].items():
        tensor = graph.tensors[index]
        if tensor.dtype not in ("int8", "uint8"):
            continue
        if encoding(tensor).scale.tolist() == [1 / 256] or first.size < 256:
            continue  # probabilities, and what has too few elements to use its range
        values, label = np.stack([result[index] for result in results]), tensor.name
        check_range(values, 20, label)
        assert any((values[0] != each).any() for each in values[1:]), label


@pytest.mark.parametrize(("name", "style"), ALL_MODELS)
def test_inputs_that_are_no_pictures_do_not_stop_softmax(name: str, style: str) -> None:
    """TFLite's reference SOFTMAX aborts where very many logits are nearly the highest."""
    model = zoo.build(name, style, tiny=True, classes=1001)
    size = first_input(read_model(model)).shape[1]
    black, white = np.zeros((size, size, 3), np.uint8), np.full((size, size, 3), 255, np.uint8)
    for pixels in (black, white, images.noise(9, size)):
        probabilities = list(run(model, pixels, style).values())[-1]
        assert len(np.unique(probabilities)) > 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "inception_v3",
            {"CONV_2D": 94, "CONCATENATION": 15, "AVERAGE_POOL_2D": 9, "MAX_POOL_2D": 4},
        ),
        ("mobilenet_v1", {"CONV_2D": 14, "DEPTHWISE_CONV_2D": 13}),
        ("mobilenet_v2", {"CONV_2D": 35, "DEPTHWISE_CONV_2D": 17, "ADD": 10}),
        ("resnet50", {"CONV_2D": 53, "MAX_POOL_2D": 1, "ADD": 16}),
    ],
)
@pytest.mark.parametrize("style", ALL_STYLES)
def test_operators_are_the_published_ones(name: str, style: str, expected: dict[str, int]) -> None:
    assert codes_of(name, style) == {**expected, "MEAN": 1, "FULLY_CONNECTED": 1, "SOFTMAX": 1}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mobilenet_v3", {"DEPTHWISE_CONV_2D": 15, "HARD_SWISH": 21, "MEAN": 9, "MUL": 16}),
        ("efficientnet_lite0", {"CONV_2D": 33, "DEPTHWISE_CONV_2D": 16, "ADD": 9}),
        ("unet", {"CONV_2D": 19, "TRANSPOSE_CONV": 4, "CONCATENATION": 4, "MAX_POOL_2D": 4}),
        # 57 with the unit x · sigmoid(x), 6 that end a head, and one of the distances.
        ("yolov8n", {"CONV_2D": 64, "LOGISTIC": 58, "MAX_POOL_2D": 3, "SPLIT": 9}),
        ("ssd_mobilenet_v2", {"CONV_2D": 55, "DEPTHWISE_CONV_2D": 17, DETECTION: 1}),
        # Two dense layers beside those of its one layer, which has 15.
        ("mobilebert", {"FULLY_CONNECTED": 17, "BATCH_MATMUL": 2, "GATHER": 2, "SOFTMAX": 1}),
        ("deit_tiny", {"FULLY_CONNECTED": 7, "BATCH_MATMUL": 2, "GELU": 1, "RSQRT": 3}),
        ("ds_cnn_stream", {"CONV_2D": 5, "DEPTHWISE_CONV_2D": 4, "READ_VARIABLE": 6}),
        ("svdf_spotter", {"SVDF": 7, "FULLY_CONNECTED": 5}),
        ("lstm_spotter", {"UNIDIRECTIONAL_SEQUENCE_LSTM": 1, "FULLY_CONNECTED": 1}),
        ("movenet", {"RESIZE_BILINEAR": 3, "ARG_MAX": 2, "GATHER_ND": 3, "FLOOR_DIV": 2}),
    ],
)
def test_other_networks_have_their_operators(name: str, expected: dict[str, int]) -> None:
    counts = codes_of(name, "int8_per_axis")
    assert {code: counts[code] for code in expected} == expected


def test_boxes_and_floats_are_the_published_ones() -> None:
    model = tflite_zoo.build("ssd_mobilenet_v2", "uint8", width=1 / 8, classes=8)
    tensors = read_model(model).tensors
    (anchors,) = (tensor for tensor in tensors if tensor.name.endswith("/anchors"))
    assert tuple(anchors.shape) == (1917, 4)
    real = graph_of("mobilenet_v2", zoo.FLOAT_STYLE)
    assert zoo.FLOAT_STYLE not in (*zoo.STYLES, *(style for _, style in tflite_zoo.MODELS))
    assert {tensor.dtype for tensor in real.tensors} == {"float32", "int32"}
    assert codes_of("mobilenet_v2", zoo.FLOAT_STYLE) == codes_of("mobilenet_v2", "int8")


@pytest.mark.parametrize("name", zoo.NAMES)
def test_uint8_kernels_are_asymmetric(name: str) -> None:
    for _, (_, kernel, *_rest) in layers(graph_of(name, "uint8")):
        assert kernel.dtype == "uint8"
        ((zero_point,), (_,)) = encoding(kernel).zero_point, encoding(kernel).scale
        assert 0 < zero_point < 255
        assert abs(zero_point - 128) > 4


@pytest.mark.parametrize("name", zoo.NAMES)
@pytest.mark.parametrize("style", ["int8", "int8_per_axis", "int16x8"])
def test_int8_kernels_are_symmetric(name: str, style: str) -> None:
    for code, (_, kernel, *_rest) in layers(graph_of(name, style)):
        known, axis = encoding(kernel), AXES[code]
        assert not known.zero_point.any()
        if style == "int8" or axis is None:
            assert len(known.scale) == 1
        else:
            assert known.axis == axis
            assert len(known.scale) == kernel.shape[axis]
            assert len(set(known.scale)) > 1


@pytest.mark.parametrize(("name", "style"), ALL_MODELS)
def test_bias_scales_are_those_of_the_products(name: str, style: str) -> None:
    for _, operands in layers(graph_of(name, style)):
        x, kernel, bias = (encoding(tensor).scale for tensor in operands)
        np.testing.assert_array_equal(x * kernel, bias)


def test_concatenations_keep_or_share_their_scales() -> None:
    for style in ALL_STYLES:
        graph = graph_of("inception_v3", style)
        for operator in graph.operators:
            if operator.code == "CONCATENATION":
                ends = (graph.tensors[index] for index in (*operator.inputs, *operator.outputs))
                known = {(*encoding(each).scale, *encoding(each).zero_point) for each in ends}
                assert (len(known) > 1) == (style == "uint8")


def test_seeds_sizes_widths_and_classes() -> None:
    first = zoo.build("mobilenet_v2", "int8", tiny=True, seed=3)
    zoo._graph.cache_clear()
    assert zoo.build("mobilenet_v2", "int8", tiny=True, seed=3) == first
    assert zoo.build("mobilenet_v2", "int8", tiny=True, seed=4) != first
    model = zoo.build("mobilenet_v1", "int8", size=40, width=0.25, classes=17)
    graph = read_model(model)
    kernels = [kernel for code, (_, kernel, _) in layers(graph) if code == "CONV_2D"]
    assert first_input(graph).shape == (1, 40, 40, 3)
    assert graph.tensors[graph.outputs[0]].shape == (1, 17)
    assert [kernels[i].shape[0] for i in (0, 1, -1)] == [8, 16, 256]


test_wrong_arguments = failing(
    lambda arguments: tflite_zoo.build(**{"name": "inception_v3", "tiny": True, **arguments}),
    ({"name": "vgg16"}, "no network 'vgg16' in the zoo; it has inception_v3"),
    ({"style": "int4"}, "no style 'int4'; a model can be uint8, int8"),
    ({"classes": 3}, "needs at least 8 classes, got 3"),
    ({"name": "unet", "style": "uint8"}, "unet is made in int8_per_axis, not in uint8"),
    ({"size": 0}, "size and width must be positive, got 0"),
    ({"size": 40}, "picture too small"),
    ({"width": -1}, "must be positive, got 75 and -1"),
)
