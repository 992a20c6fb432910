import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qnn_ops.dialect.signature import TensorInfo
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn.io.images import as_input, noise, open_picture, picture_shape
from tvm_qnn.io.normalization import normalization_of
from tvm_qnn.io.preparation import Preparation

COLOURS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)
PIXELS = np.array([[[0], [127]], [[128], [255]]], np.uint8)


def info(dtype: str, shape: tuple[int, ...] = (1, 2, 2, 1)) -> TensorInfo:
    return TensorInfo("image", shape, dtype)


def read_picture(path: str | Path, height: int, width: int, channels: int) -> np.ndarray:
    picture = open_picture(path, "RGB" if channels == 3 else "L")
    return Preparation().pixels(picture, height, width, channels)


def test_a_picture_is_scaled_to_height_and_width(tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(tmp_path / "colours.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "colours.png", 2, 2, 3), COLOURS)
    Image.fromarray(np.full((50, 30, 3), 77, np.uint8)).save(tmp_path / "plain.png")
    pixels = read_picture(tmp_path / "plain.png", 4, 6, 3)
    assert pixels.shape == (4, 6, 3)
    assert set(pixels.ravel()) == {77}


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK", "1"])
def test_any_kind_of_picture_has_the_channels_asked_for(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("picture.tif" if mode == "CMYK" else "picture.png")
    Image.fromarray(COLOURS).convert(mode).save(path)
    assert read_picture(path, 2, 2, 3).shape == (2, 2, 3)
    assert read_picture(path, 2, 2, 1).shape == (2, 2, 1)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_upright(tmp_path: Path, orientation: int) -> None:
    # As a camera stores it: what TIFF 6.0 says of tag 274, in terms of numpy.
    turned = {
        1: COLOURS,
        2: COLOURS[:, ::-1],
        3: COLOURS[::-1, ::-1],
        4: COLOURS[::-1],
        5: COLOURS.transpose(1, 0, 2),
        6: np.rot90(COLOURS, 1),
        7: np.rot90(COLOURS, 2).transpose(1, 0, 2),
        8: np.rot90(COLOURS, -1),
    }[orientation]
    exif = Image.Exif()
    exif[274] = orientation
    Image.fromarray(np.ascontiguousarray(turned)).save(tmp_path / "photo.png", exif=exif)
    np.testing.assert_array_equal(read_picture(tmp_path / "photo.png", 2, 2, 3), COLOURS)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_grey_of_16_bits_keeps_its_shades(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"grey.{suffix}"
    Image.fromarray(np.array([[0, 257], [32768, 65535]], np.uint16)).save(path)
    assert read_picture(path, 2, 2, 1).ravel().tolist() == [0, 1, 128, 255]
    assert read_picture(path, 2, 2, 3)[1, 0].tolist() == [128] * 3


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_pixels_of_32_bits_are_errors(tmp_path: Path, dtype: str) -> None:
    Image.fromarray(np.array([[0, 70000], [1, 2]], dtype)).save(tmp_path / "deep.tif")
    with pytest.raises(QnnError, match=r"deep\.tif: its pixels have 32 bits \(0 to 70000\)"):
        read_picture(tmp_path / "deep.tif", 2, 2, 1)


def test_files_that_are_no_pictures_are_errors(tmp_path: Path) -> None:
    with pytest.raises(QnnError, match=r"cannot read the picture .*missing\.png"):
        read_picture(tmp_path / "missing.png", 2, 2, 3)
    (tmp_path / "text.png").write_text("text")
    fails(r"text\.png is not a picture", read_picture, tmp_path / "text.png", 2, 2, 3)
    Image.fromarray(np.zeros((90, 90, 3), np.uint8)).save(tmp_path / "whole.bmp")
    (tmp_path / "half.bmp").write_bytes((tmp_path / "whole.bmp").read_bytes()[:9000])
    fails(r"cannot read the picture .*half\.bmp", read_picture, tmp_path / "half.bmp", 2, 2, 3)
    # Of a class of Pillow's own, which is no OSError and no ValueError.
    (tmp_path / "huge.ppm").write_bytes(b"P6 100000 100000 255\n")
    with pytest.raises(QnnError, match=r"cannot read the picture .*huge\.ppm: Image size"):
        read_picture(tmp_path / "huge.ppm", 2, 2, 3)


def test_without_pillow_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    fails("pip install pillow", read_picture, "any.png", 2, 2, 3)


@pytest.mark.parametrize(
    ("dtype", "expected"), [("uint8", [0, 127, 128, 255]), ("int8", [-128, -1, 0, 127])]
)
def test_black_is_the_lowest_integer_and_white_the_highest(dtype: str, expected: list[int]) -> None:
    array = as_input(PIXELS, info(dtype))
    assert array.shape == (1, 2, 2, 1)
    assert array.dtype == dtype
    assert array.ravel().tolist() == expected


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
def test_channels_may_come_first_as_in_mxnet(dtype: str) -> None:
    pixels = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)
    last, first = info(dtype, (1, 2, 4, 3)), info(dtype, (1, 3, 2, 4))
    assert picture_shape(first) == picture_shape(last) == (2, 4, 3)
    array = as_input(pixels, first, normalization_of(first))
    assert array.flags.c_contiguous
    expected = as_input(pixels, last, normalization_of(last))
    np.testing.assert_array_equal(array.transpose(0, 2, 3, 1), expected)


def test_inputs_that_take_no_picture_are_errors() -> None:
    assert picture_shape(info("int8", (1, 5, 7, 3))) == (5, 7, 3)
    for shape in [(1, 640), (2, 5, 7, 3), (1, 5, 7, 2), (1, 2, 5, 7), (2, 3, 5, 7)]:
        fails("does not take one picture", picture_shape, info("int8", shape))
    with pytest.raises(QnnError, match=r"takes \(1, 2, 2, 3\), got a picture \(2, 2, 1\)"):
        as_input(PIXELS, info("int8", (1, 2, 2, 3)))
    fails("of dtype int32 does not take a picture", as_input, PIXELS, info("int32"))
    for shape in ((1, 49, 10, 1), (1, 1, 49, 10)):
        with pytest.raises(
            QnnError, match="takes 49 × 10 numbers, such as the features of a sound"
        ):
            picture_shape(info("int8", shape))
    assert picture_shape(info("uint8", (1, 32, 320, 1))) == (32, 320, 1)  # a line of text
    assert picture_shape(info("uint8", (1, 3, 5, 3))) == (3, 5, 3)
    assert picture_shape(info("uint8", (1, 1, 2, 1))) == (1, 2, 1)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int32", 0, 1), ("int64", 0, 1), ("bool", 0, 1)],
)
def test_noise_takes_every_integer(dtype: str, low: int, high: int) -> None:
    array = noise(info(dtype, (1, 100, 100, 1)))
    assert (array.shape, str(array.dtype)) == ((1, 100, 100, 1), dtype)
    assert set(array.ravel().tolist()) == set(range(low, high + 1))


def test_noise_for_a_float_input_is_between_minus_one_and_one() -> None:
    array = noise(info("float32", (10, 10)))
    assert array.dtype == np.float32
    assert -1 <= array.min() < 0 < array.max() <= 1
    assert not np.array_equal(array, noise(info("float32", (10, 10)), seed=1))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("attention_mask", [1, 1, 1]),
        ("serving_default_input_mask:0", [1, 1, 1]),
        ("token_type_ids", [0, 0, 0]),
        ("position_ids", [0, 1, 2]),
    ],
)
def test_noise_for_what_describes_a_sentence_is_a_whole_one(name: str, row: list[int]) -> None:
    for dtype in ("int64", "int32", "float32"):
        array = noise(TensorInfo(name, (2, 3), dtype))
        assert str(array.dtype) == dtype
        assert array.tolist() == [row, row]
