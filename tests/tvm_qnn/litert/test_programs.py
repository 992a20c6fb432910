"""Programs that change the line of their import: their results are LiteRT's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert

from frontends.tflite.reader import read_model
from tests.frontends.tflite.interface.test_signatures import two_models
from tests.support.detectors import SIZE, detector
from tests.tvm_qnn.litert import programs
from tvm_qnn import zoo
from tvm_qnn.litert import interpreter as ours
from tvm_qnn.zoo import images

RNG = np.random.default_rng(7)


def network(name: str, style: str = "int8_per_axis") -> bytes:
    return zoo.build(name, style, tiny=True)


def inputs(content: bytes) -> list[Any]:
    graph = read_model(content)
    return [graph.tensors[index] for index in graph.inputs]


def pictures(content: bytes, count: int = 1) -> np.ndarray:
    (tensor,) = inputs(content)
    made = [images.picture(seed, tensor.shape[1]) for seed in range(count)]
    return np.stack([images.as_input(each, tensor.dtype) for each in made])


def same(program: Any, *arguments: Any) -> Any:
    expected = program(litert, *arguments)
    np.testing.assert_equal(program(ours, *arguments), expected)
    return expected


def test_programs_of_small_models() -> None:
    content = network("mobilenet_v1", "uint8")
    best = same(programs.classify, content, pictures(content)[0])
    assert len(best) == 5
    content = network("mobilenet_v1", "uint8")
    cosines = same(programs.compare_embeddings, content, list(pictures(content, 3)))
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-6)  # float32
    content = network("mobilenet_v1", "uint8")
    same(programs.run_batches, content, pictures(content, 4))
    same(programs.fill_in_place, network("mobilenet_v1", "uint8"))
    content, picture = detector(), np.zeros((SIZE, SIZE, 3), np.uint8)
    picture[0, :2] = [[30, 200, 10], [90, 20, 120]]
    assert len(same(programs.detect, content, picture)) == 2
    prompt = RNG.integers(-128, 128, (4, 8)).astype(np.int8)
    assert len(same(programs.generate, two_models(), prompt, 3)) == 3


@pytest.mark.slow
def test_slow_programs(shared: Path) -> None:
    content = network("unet")
    assert len(np.unique(same(programs.segment, content, pictures(content)[0]))) > 1
    content = network("movenet")
    assert len(same(programs.find_pose, content, pictures(content)[0])) >= 17
    content = network("mobilebert")
    arrays = {
        each.name: RNG.integers(0, 2, each.shape).astype(each.dtype) for each in inputs(content)
    }
    same(programs.read_text, content, arrays)
    content = (shared / "models/tflite/mbv1_025_128_u8.tflite").read_bytes()
    assert len(same(programs.classify, content, pictures(content)[0])) == 5


@pytest.mark.parametrize("name", ["ds_cnn_stream", "svdf_spotter"])
def test_a_spotter_that_keeps_what_it_heard(name: str) -> None:
    content = network(name)
    (tensor,) = inputs(content)
    frames = [RNG.integers(-128, 128, tensor.shape).astype(np.int8) for _ in range(6)]
    heard = same(programs.listen, content, frames)
    # Those of the other one are variables with names, which LiteRT does not reset.
    assert (heard[0] == heard[len(frames)]) == (name == "svdf_spotter")
    assert heard[0] != heard[1]
