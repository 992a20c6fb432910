from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qnn_ops.dialect.tensor_info import TensorInfo
from tests.support.errors import fails
from tests.support.pictures import write_picture
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.samples import Sample
from tvm_qnn.io.images import as_input, open_picture
from tvm_qnn.io.normalization import Normalization
from tvm_qnn.io.preparation import Preparation

COLOURED = TensorInfo("x", (1, 4, 6, 3), "float32")
GREY = TensorInfo("x", (1, 4, 6, 1), "int8", 0.5, 0)
PIXELS = np.random.default_rng(0).integers(0, 256, (9, 11, 3), np.uint8)


def feed(*infos: TensorInfo, preparation: Preparation | None = None) -> Feed:
    return Feed.of(infos, {}, preparation or Preparation())


def test_pictures_and_other_inputs_are_what_run_makes_of_them(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    write_picture(path, PIXELS)
    (found,) = feed(COLOURED).arrays(Sample(path, "x"))
    normalization = Normalization.between(-1, 1, "")
    pixels = Preparation().pixels(open_picture(path), 4, 6, 3)
    assert np.array_equal(found, as_input(pixels, COLOURED, normalization))
    infos = TensorInfo("a", (1, 2), "int8"), TensorInfo("b", (1, 3), "int32")
    rows = {"b": np.arange(6, dtype=np.int32).reshape(2, 3), "a": np.ones((2, 2), np.int8)}
    np.savez(tmp_path / "x.npz", **rows, y=[0, 1])  # type: ignore[arg-type]
    a, b = feed(*infos).arrays(Sample(tmp_path / "x.npz", "x", row=1))
    assert (a.tolist(), b.tolist()) == ([[1, 1]], [[3, 4, 5]])


def test_colours_may_be_in_the_other_order_and_are_then_normalized(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    write_picture(path, PIXELS)
    given = Normalization((1, 2, 3), (1,), "me")
    plain, turned = (
        feed(COLOURED, preparation=Preparation(order=order, normalization=given)).arrays(
            Sample(path, "x")
        )[0]
        for order in ("rgb", "bgr")
    )
    assert np.array_equal(turned + np.arange(1, 4), (plain + np.arange(1, 4))[..., ::-1])


def test_rows_of_bytes_are_pictures_and_others_what_they_are(tmp_path: Path) -> None:
    grey = PIXELS[:4, :6, 0]
    np.savez(tmp_path / "a.npz", pictures=grey[None], labels=[0])
    np.savez(tmp_path / "b.npz", x=(grey[None] ^ 128).view(np.int8)[..., None])
    np.savez(tmp_path / "c.npz", x=(grey[None].astype(np.float32) - 128)[..., None] / 2)
    found = [
        feed(GREY).arrays(Sample(tmp_path / name, name, row=0))[0]
        for name in ("a.npz", "b.npz", "c.npz")
    ]
    assert all(np.array_equal(each, found[0]) for each in found)
    assert [
        feed(GREY).takes_pixels(Sample(tmp_path / name, name, row=0))
        for name in ("a.npz", "b.npz", "c.npz")
    ] == [True, False, False]
    assert found[0].shape == GREY.shape
    assert found[0].dtype == np.int8


def test_a_mask_is_seen_as_its_picture_is(tmp_path: Path) -> None:
    mask = np.zeros((8, 12), np.uint8)
    mask[4:, 6:] = 21
    path = tmp_path / "m.png"
    write_picture(path, mask)
    sample = Sample(path, "m", mask=path)
    assert np.array_equal(feed(GREY).truth(sample, 4, 6), mask[::2, ::2])
    assert feed(GREY).truth(sample, 2, 2).tolist() == [[0, 0], [0, 21]]
    Image.fromarray(mask).convert("P").save(path)  # a palette's places are the classes
    assert feed(GREY).truth(sample, 2, 2).tolist() == [[0, 0], [0, 21]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.png", b"no", "list.csv, line 3: .*x.png is not a picture that Pillow can read"),
        ("x.png", b"", "list.csv, line 3"),
    ],
)
def test_a_picture_that_does_not_open_is_told_with_its_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    fails(message, feed(GREY).check, Sample(tmp_path / name, "list.csv, line 3"))


def test_what_does_not_fit_is_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", z=np.zeros((1, 3), np.int8), q=np.zeros((1, 3), np.int8))
    row = Sample(tmp_path / "x.npz", "x.npz, row 0", row=0)
    fails("row 0: it has no array for input 'x'; it has z, q", feed(GREY).check, row)
    write_picture(tmp_path / "m.png", PIXELS)
    sample = Sample(tmp_path / "m.png", "m", mask=tmp_path / "m.png")
    fails(r"m.png: a mask has a class in each pixel, this one RGB", feed(GREY).truth, sample, 4, 6)
    fails(r"the model has 2 inputs: data for it is an .npz", feed(GREY, GREY).check, sample)
    fails("does not take one picture", feed(TensorInfo("x", (1, 3), "int8")).check, sample)
