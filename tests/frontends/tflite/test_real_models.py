"""Real models of others: every tensor that they compute is LiteRT's, bit for bit."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from frontends.tflite.reader import read_model
from tests.support.arrays import full_range
from tests.support.models import differing_tensors
from tests.support.tflite import library_of

# In CI's time; the others, which take ten seconds and more to compile, are slow.
SMALL = (
    "ad_i8",
    "ic_resnet_i8",
    "kws_i8",
    "lstm_i8",
    "mbv1_025_128_u8",
    "micro_speech_i8",
    "split_concat_u8",
    "vww_i8",
)
LARGE = ("deeplab_dm05_u8", "tf2_mbv2_i8")
ROUTES = [
    *((name, route) for name in SMALL for route in ("primitives", "kernels")),
    *(pytest.param(name, "kernels", marks=pytest.mark.slow) for name in LARGE),
]


@pytest.fixture(scope="module")
def models(shared: Path) -> Path:
    return shared / "models" / "tflite"


@pytest.mark.parametrize(("name", "route"), ROUTES)
def test_every_tensor_equals_litert(models: Path, name: str, route: str) -> None:
    content = (models / f"{name}.tflite").read_bytes()
    target = {"primitives": "llvm", "kernels": "host"}[route]
    assert differing_tensors(content, runs(content), target, kernels=route == "kernels") == []


def runs(content: bytes) -> list[list[np.ndarray]]:
    """Return inputs of the whole range, and of the middle of it."""
    graph = read_model(content)
    rng = np.random.default_rng(50)
    tensors = [graph.tensors[index] for index in graph.inputs]
    return [
        [(full_range(rng, t.dtype, t.shape) // shrink).astype(t.dtype) for t in tensors]
        for shrink in (1, 4)
    ]


@pytest.mark.slow
def test_a_picture_of_grace_hopper_shows_a_military_uniform(shared: Path, models: Path) -> None:
    labels = (shared / "images" / "imagenet_labels.txt").read_text().splitlines()
    with Image.open(shared / "images" / "grace_hopper.bmp") as picture:
        pixels = np.asarray(picture.convert("RGB").resize((224, 224)), np.uint8)[None]
    content = (models / "mbv2_u8.tflite").read_bytes()
    scores = library_of(content, "host").run(pixels)
    assert labels[int(scores.argmax())] == "military uniform"
    given = [[pixels], *runs(content)]
    assert differing_tensors(content, given, "host", kernels=True) == []


def test_a_keyword_spotter_that_litert_cannot_run(models: Path) -> None:
    # LiteRT reads its int8 state as int16, beyond its memory.
    library = library_of(models / "keyword_svdf_i8.tflite", "host")
    (info,) = library.inputs
    data = full_range(np.random.default_rng(51), info.dtype, info.shape)
    assert library.run(data).shape == library.outputs[0].shape
