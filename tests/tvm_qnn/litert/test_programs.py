"""Programs that change the line of their import: their results are LiteRT's."""

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert

from benchmarks import tflite_zoo
from frontends.tflite.reader import read_model
from tests.frontends.tflite.interface.test_signatures import two_models
from tests.support.detectors import SIZE, detector
from tests.support.tflite import one, x
from tests.tvm_qnn.litert import programs
from tvm_qnn import digits
from tvm_qnn.litert import interpreter as ours

RNG = np.random.default_rng(7)


def network(name: str, style: str = "int8_per_axis") -> bytes:
    return tflite_zoo.build(name, style, tiny=True)


def same(program: Any, *arguments: Any) -> Any:
    expected = program(litert, *arguments)
    np.testing.assert_equal(program(ours, *arguments), expected)
    return expected


def test_programs_of_classifiers() -> None:
    content, pictures = digits.model("uint8"), RNG.integers(0, 256, (4, 8, 8, 1), np.uint8)
    assert len(same(programs.classify, content, pictures[0])) == 5
    cosines = same(programs.compare_embeddings, content, list(pictures[:3]))
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-6)  # float32
    same(programs.run_batches, content, pictures)
    same(programs.fill_in_place, content)


def test_programs_of_pictures_and_texts() -> None:
    content, picture = detector(), np.zeros((SIZE, SIZE, 3), np.uint8)
    picture[0, :2] = [[30, 200, 10], [90, 20, 120]]
    assert len(same(programs.detect, content, picture)) == 2
    prompt = RNG.integers(-128, 128, (4, 8)).astype(np.int8)
    assert len(same(programs.generate, two_models(), prompt, 3)) == 3
    sheet = one("AVERAGE_POOL_2D", x(1, 9, 9, 3, dtype="uint8"))
    (picture,) = sheet.arrays[0]
    assert len(np.unique(same(programs.segment, sheet.model(), picture))) > 1
    assert len(same(programs.find_pose, sheet.model(), picture)) == 64
    sheet = one("SUB", x(3, 4), x(3, 4))
    same(programs.read_text, sheet.model(), dict(zip(("x1", "x2"), sheet.arrays, strict=True)))


@pytest.mark.parametrize("name", ["ds_cnn_stream", "svdf_spotter"])
def test_a_spotter_that_keeps_what_it_heard(name: str) -> None:
    content = network(name)
    (taken,) = read_model(content).inputs
    shape = read_model(content).tensors[taken].shape
    frames = [RNG.integers(-128, 128, shape).astype(np.int8) for _ in range(6)]
    heard = same(programs.listen, content, frames)
    # Those of the other one are variables with names, which LiteRT does not reset.
    assert (heard[0] == heard[len(frames)]) == (name == "svdf_spotter")
    assert heard[0] != heard[1]
