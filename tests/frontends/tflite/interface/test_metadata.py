"""Metadata of TFLite files, whole and damaged."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from frontends.formats import read_model
from frontends.summary import Description, Descriptions
from frontends.tflite.interface.metadata import read_metadata
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.metadata import Tensor, metadata, with_files

AXIS_LABELS, VALUE_LABELS, DESCRIPTIONS = 2, 3, 1


def model(content: bytes) -> bytes:
    """Return a model of one input and two outputs."""
    writer = ModelWriter()
    quantization = Quantization.per_tensor(0.5, 0)
    x, y, z = (writer.tensor(name, (1, 3), "int8", quantization) for name in "xyz")
    writer.operator("RELU", [x], [y])
    writer.operator("RELU", [y], [z])
    return writer.finish([x], [y, z], metadata=content)


LABELLED = metadata(outputs=[Tensor(), Tensor([("readme", DESCRIPTIONS), ("names", VALUE_LABELS)])])


def test_labels_normalization_and_threshold_are_read(tmp_path: Path) -> None:
    inputs = [Tensor(mean=[127.5], std=[2.0, 3.0, 4.0])]
    outputs = [
        Tensor([("names", AXIS_LABELS), ("other", AXIS_LABELS)], threshold=0.25),
        Tensor([("readme", DESCRIPTIONS)]),
    ]
    content = with_files(model(metadata(inputs, outputs)), {"names": b"ant\nb\xc3\xa4r\n\n"})
    (tmp_path / "net.tflite").write_bytes(content)
    for each in (content, tmp_path / "net.tflite"):
        assert read_metadata(each) == Descriptions(
            {0: Description(mean=(127.5,), std=(2.0, 3.0, 4.0))},
            {0: Description(("ant", "bär"), 0.25), 1: Description()},
        )
    assert read_model(content).descriptions() == read_metadata(content)


def test_models_without_metadata_or_with_a_password_tell_nothing() -> None:
    assert read_metadata(model(b"")) == Descriptions()
    content = bytearray(with_files(model(LABELLED), {"names": b"ant"}))
    for head, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.rindex(head) + flags] |= 1
    (note,) = read_metadata(bytes(content)).notes
    assert "password" in note


def test_a_real_model_has_labels(shared: Path) -> None:
    found = read_metadata(shared / "models" / "tflite" / "mbv2_u8.tflite")
    assert found.notes == ()
    assert found.inputs[0] == Description(mean=(127.5,), std=(127.5,))
    assert len(found.outputs[0].labels) == 1001
    assert found.outputs[0].labels[:2] == ("background", "tench, Tinca tinca")


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"M001", "does not have M001 at byte 4"),
        (b"\xff\xff\xff\xffM001", "truncated or damaged"),
        (b"\x08\0\0\0M001\xff\xff\xff\x7f", "truncated or damaged"),
        (metadata(inputs=[Tensor(), Tensor()]), "describes 2 inputs, the model has 1"),
    ],
)
def test_damaged_metadata_is_left_out_with_a_note(content: bytes, note: str) -> None:
    found = read_metadata(model(content))
    assert not found.inputs
    assert not found.outputs
    assert len(found.notes) == 1
    assert note in found.notes[0]


@pytest.mark.parametrize(
    ("files", "note"),
    [
        (None, "not a zip file"),
        ({"other": b"ant"}, "no item named 'names'"),
        ({"names": b"\xff\xfe"}, "decode"),
        ({"names": b"ant\n" * (1 << 21)}, "more than 4194304 bytes"),
    ],
)
def test_unreadable_labels_are_left_out(files: dict[str, bytes] | None, note: str) -> None:
    content = model(LABELLED)
    if files is not None:
        content = with_files(content, files, compression=zipfile.ZIP_DEFLATED)
    found = read_metadata(content)
    assert found.outputs[1].labels == ()
    assert len(found.notes) == 1
    assert note in found.notes[0]


@pytest.mark.parametrize(
    ("mean", "std"), [([float("nan")], [1.0]), ([1.0], [0.0]), ([1.0, 2.0], [1.0]), ([], [1.0])]
)
def test_a_normalization_of_no_sense_is_left_out(mean: list[float], std: list[float]) -> None:
    found = read_metadata(model(metadata([Tensor(mean=mean, std=std)])))
    assert found.inputs == {0: Description()}
    assert "normalization is left out" in found.notes[0]


def test_no_damage_of_a_byte_is_a_crash() -> None:
    rng = np.random.default_rng(0)
    tensors = [Tensor([("names", AXIS_LABELS)], 0.5, [1.0], [2.0])]
    content = metadata(tensors, [*tensors, *tensors])
    whole = with_files(model(content), {"names": b"ant\nbee"})
    start = whole.index(content)
    places = [*range(start, start + len(content)), *range(len(whole) - 120, len(whole))]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] = rng.integers(256)
        for note in read_metadata(bytes(damaged)).notes:
            assert "left out" in note
