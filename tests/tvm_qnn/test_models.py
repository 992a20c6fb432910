"""The zoo's networks, with few repetitions: every tensor is LiteRT's, bit for bit."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks import tflite_zoo
from benchmarks.tflite_zoo import classifiers as others
from frontends.tflite.reader import read_model
from qnn_ops.dialect.signature import TensorInfo
from tests.support.as_written import compile_as_written
from tests.support.models import differing_tensors
from tests.support.tflite import library_of
from tvm_qnn import zoo
from tvm_qnn.io.images import noise
from tvm_qnn.oracle import litert_runs
from tvm_qnn.zoo import classifiers, images

ROUTES = {"primitives": ("llvm", False), "kernels": ("host", True)}


HYBRID = "hybrid_lstm_spotter"

# Other tests compare the primitives of all operators in all styles, one by one.
PORTABLE = {("mobilenet_v2", "uint8"), ("mobilenet_v1", "int8_per_axis")}

# The smallest classifier is in every style, these are in one; `make test-targets` has them all.
STYLES = {"inception_v3": "uint8", "mobilenet_v2": "uint8", "resnet50": "int8_per_axis"}
STYLES |= {"ssd_mobilenet_v2": "uint8"}

# This one runs at its full size, and is compiled as users do. The others are compiled as written:
# `make test-targets` optimizes them, and the tests of kernels and random graphs do.
WHOLE = ("inception_v3", "kernels")

_RUNS = [
    pytest.param(name, style, route, marks=[pytest.mark.slow] * ((name, route) == WHOLE))
    for name, style in tflite_zoo.MODELS
    for route in ROUTES
    if name != HYBRID and STYLES.get(name, style) == style
    if route == "kernels" or (name, style) in PORTABLE
]


_graph = lru_cache(8)(zoo._graph.__wrapped__)


@pytest.fixture(autouse=True)
def _few_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat a block twice at most: a third has the second's shapes, and so its code."""
    stages = [(channels, min(count, 2), step) for channels, count, step in classifiers._STAGES]
    monkeypatch.setattr(classifiers, "_STAGES", stages)
    monkeypatch.setattr(others, "_MOBILENET_V3", [*dict.fromkeys(others._MOBILENET_V3)])
    monkeypatch.setattr(classifiers.Row, "repetitions", property(lambda row: min(row[2], 2)))
    monkeypatch.setattr(zoo, "_graph", _graph)


@pytest.mark.parametrize(("name", "style", "route"), _RUNS)
def test_every_tensor_of_a_network_equals_litert(
    name: str, style: str, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (name, route) != WHOLE:
        compile_as_written(monkeypatch)
    content = tflite_zoo.build(name, style=style, tiny=(name, route) != WHOLE)
    target, kernels = ROUTES[route]
    assert differing_tensors(content, runs(content), target, kernels=kernels) == []


@pytest.mark.parametrize("route", ROUTES)
def test_a_tiny_hybrid_network_is_near_litert(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_as_written(monkeypatch)
    content = tflite_zoo.build(HYBRID, "int8_per_axis", tiny=True)
    target, kernels = ROUTES[route]
    library = library_of(content, target, kernels=kernels)
    (output,) = read_model(content).outputs
    stream = runs(content)
    for inputs, expected in zip(stream, litert_runs(content, stream), strict=True):
        # Float32 gates, and sums in another order; see the tests of the operator.
        np.testing.assert_allclose(library.run(*inputs), expected[output], rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "route"), [("mobilenet_v1", "primitives"), ("mobilenet_v2", "kernels")]
)
def test_every_tensor_of_a_tiny_network_in_int16_equals_litert(
    name: str, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_as_written(monkeypatch)
    content = zoo.build(name, style=zoo.INT16_STYLE, tiny=True)
    target, kernels = ROUTES[route]
    assert differing_tensors(content, runs(content), target, kernels=kernels) == []


def runs(content: bytes) -> list[list[npt.NDArray[Any]]]:
    """Return a picture that the ranges were measured on, one that they were not, and noise.

    Of networks that read texts or spectra, noise alone.
    """
    graph = read_model(content)
    if graph.tensors[graph.inputs[0]].shape[-1] != 3:
        inputs = [graph.tensors[index] for index in graph.inputs]
        infos = [TensorInfo(each.name, tuple(each.shape), each.dtype) for each in inputs]
        return [[noise(info, seed) for info in infos] for seed in range(3)]
    tensor = graph.tensors[graph.inputs[0]]
    size = tensor.shape[1]
    pictures = [
        images.picture(0, size),
        images.picture(zoo.PICTURES + 1, size),
        images.noise(0, size),
    ]
    return [[images.as_input(picture, tensor.dtype)[None]] for picture in pictures]
