"""Programs as people write them with ONNX Runtime: one line is another, and all else is equal."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import onnx_program_models as models
from tests.support.onnx_sessions import check_same, onnx

Answer = Any


def photo(size: int, seed: int = 0) -> np.ndarray:
    """Return a picture of bytes, rows of pixels."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (size // 4, size // 4, 3))
    return np.kron(coarse, np.ones((4, 4, 1), int)).astype(np.uint8)


def prepared(picture: np.ndarray) -> np.ndarray:
    """Return what a classifier takes: channels first, of mean 0."""
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    scaled = (picture / 255 - mean) / deviation
    return scaled.transpose(2, 0, 1)[None].astype(np.float32)


def classify(ort: Any, _: Path) -> Answer:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = 1
    content = models.classifier().SerializeToString()
    session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    best = []
    for seed in range(3):
        (logits,) = session.run(None, {name: prepared(photo(32, seed))})
        odds = np.exp(logits[0] - logits[0].max())
        odds /= odds.sum()
        best += [(int(k), f"{odds[k]:.4f}") for k in np.argsort(odds)[::-1][:3]]
    return best, logits


def detect(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.detector())
    found = []
    for seed in range(3):
        feed = {session.get_inputs()[0].name: prepared(photo(32, seed))}
        boxes, scores, selected = session.run(["boxes", "scores", "selected"], feed)
        for batch, kind, box in selected:
            found.append((int(kind), float(scores[batch, kind, box]), boxes[batch, box].tolist()))
    assert found
    return found


def segment(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.segmenter(), providers=ort.get_available_providers())
    palette = np.random.default_rng(1).integers(0, 256, (5, 3), np.uint8)
    mask = session.run(["mask"], {"images": prepared(photo(24))})[0][0]
    shares = np.bincount(mask.ravel(), minlength=5) / mask.size
    return mask, palette[mask], shares


def spot_words(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.spotter())
    wave = np.random.default_rng(2).normal(size=(120, 10)).astype(np.float32)
    heard = []
    for start in range(0, 70, 10):
        window = wave[start : start + 49][None, None]
        odds = session.run(["probabilities"], {"spectrogram": window})[0][0]
        heard.append((start, int(odds.argmax()), float(odds.max())))
    return heard


def transcribe(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.transcriber())
    frames = np.random.default_rng(5).normal(size=(1, 1, 40, 8)).astype(np.float32)
    (scores,) = session.run(None, {session.get_inputs()[0].name: frames})
    letters = scores[0].mean(-1).argmax(0)
    kept = [
        one for one, before in zip(letters[1:], letters, strict=False) if one not in (0, before)
    ]
    return scores, "".join(" abcde"[letter] for letter in kept)


def classify_texts(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.reader())
    names = [each.name for each in session.get_inputs()]
    assert names == ["input_ids", "attention_mask"]
    answers = []
    for text in ("good", "a very good film", "bad", "not good"):
        words = [sum(map(ord, word)) % 50 for word in text.split()]
        ids = np.array([words], np.int64)
        logits = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
        answers.append((text, int(logits.argmax()), logits))
    return answers


def embed(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.embedder())
    assert session.get_inputs()[0].shape == ["batch", 24]
    rng, found = np.random.default_rng(4), []
    for batch in (1, 4, 2):
        data = rng.normal(size=(batch, 24)).astype(np.float32)
        rows = session.run(["embedding"], {"features": data})[0]
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        found.append((rows, unit @ unit.T))
    return found


def run_bound(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.classifier().SerializeToString())
    binding = session.io_binding()
    frame = np.zeros((1, 3, 32, 32), np.float32)
    place = ort.OrtValue.ortvalue_from_shape_and_type([1, 10], np.float32, "cpu", 0)
    binding.bind_input("images", "cpu", 0, np.float32, frame.shape, frame.ctypes.data)
    binding.bind_ortvalue_output("logits", place)
    found = []
    for seed in range(4):
        frame[:] = prepared(photo(32, seed))
        session.run_with_iobinding(binding)
        found.append((binding.copy_outputs_to_cpu()[0], place.numpy().copy()))
    return found


def describe(ort: Any, _: Path) -> Answer:
    model = models.classifier(producer_name="studio", model_version=3, doc_string="ten things")
    onnx.helper.set_model_props(model, {"names": "cat,dog", "stride": "4"})
    session = ort.InferenceSession(model.SerializeToString())
    lines = []
    for role, args in (("input", session.get_inputs()), ("output", session.get_outputs())):
        lines += [f"{role} {arg.name}: {arg.type} {arg.shape}" for arg in args]
    meta = session.get_modelmeta()
    lines.append(f"{meta.producer_name} {meta.version} {meta.graph_name} {meta.description}")
    lines += [f"{key}={value}" for key, value in sorted(meta.custom_metadata_map.items())]
    return lines, session.get_providers(), ort.get_device()


def mix(ort: Any, _: Path) -> Answer:
    session = ort.InferenceSession(models.mixer())
    wanted = [each.name for each in session.get_outputs()][::-1]
    rng, found = np.random.default_rng(6), []
    for seed in range(3):
        feed = {
            "facts": rng.normal(size=(1, 4)).astype(np.float32),
            "image": prepared(photo(16, seed)),
        }
        found.append(dict(zip(wanted, session.run(wanted, feed), strict=True)))
    return [list(each.values()) for each in found]


def load_from_folder(ort: Any, folder: Path) -> Answer:
    path = folder / "model.onnx"
    if not path.exists():
        onnx.save(
            models.classifier(7), path, save_as_external_data=True, size_threshold=0,
            location="model.data",
        )  # fmt: skip
    assert os.path.getsize(folder / "model.data") > os.path.getsize(path) // 4
    try:
        ort.InferenceSession(str(folder / "other.onnx"))
    except Exception as error:  # a program prints it
        told = f"{type(error).__name__}: {error}"
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return told, session.run(None, {"images": prepared(photo(32))})


PROGRAMS: list[Callable[[Any, Path], Answer]] = [
    *(classify, detect, segment, spot_words, transcribe, classify_texts),
    *(embed, run_bound, describe, mix, load_from_folder),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_a_program_gives_the_same(program: Callable[[Any, Path], Answer], tmp_path: Path) -> None:
    check_same(lambda ort: program(ort, tmp_path))
