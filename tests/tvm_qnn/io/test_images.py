from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from frontends.descriptions import Description
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.encoding import Encoding
from qnn_ops.errors import QnnError
from qnn_ops.signature import TensorInfo
from tvm_qnn.io.images import as_input, encoding_after, noise, picture_shape, read_picture

COLOURS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)
PIXELS = np.array([[[0], [127]], [[128], [255]]], np.uint8)


def info(dtype: str, shape: tuple[int, ...] = (1, 2, 2, 1)) -> TensorInfo:
    return TensorInfo("image", shape, dtype)


def test_a_picture_of_the_right_size_keeps_its_pixels(tmp_path: Path) -> None:
    Image.fromarray(COLOURS).save(tmp_path / "colours.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "colours.png", 2, 2, 3), COLOURS)


def test_a_picture_is_scaled_to_height_and_width(tmp_path: Path) -> None:
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


def test_files_that_are_no_pictures_are_errors(tmp_path: Path) -> None:
    with pytest.raises(QnnError, match=r"cannot read the picture .*missing\.png"):
        read_picture(tmp_path / "missing.png", 2, 2, 3)
    (tmp_path / "text.png").write_text("text")
    with pytest.raises(QnnError, match=r"text\.png is not a picture"):
        read_picture(tmp_path / "text.png", 2, 2, 3)
    Image.fromarray(np.zeros((90, 90, 3), np.uint8)).save(tmp_path / "whole.bmp")
    (tmp_path / "half.bmp").write_bytes((tmp_path / "whole.bmp").read_bytes()[:9000])
    with pytest.raises(QnnError, match=r"cannot read the picture .*half\.bmp"):
        read_picture(tmp_path / "half.bmp", 2, 2, 3)


def test_a_picture_larger_than_pillow_wants_is_an_error(tmp_path: Path) -> None:
    # Of a class of Pillow's own, which is no OSError and no ValueError.
    (tmp_path / "huge.ppm").write_bytes(b"P6 100000 100000 255\n")
    with pytest.raises(QnnError, match=r"cannot read the picture .*huge\.ppm: Image size"):
        read_picture(tmp_path / "huge.ppm", 2, 2, 3)


def test_without_pillow_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(QnnError, match="pip install pillow"):
        read_picture("any.png", 2, 2, 3)


@pytest.mark.parametrize(
    ("dtype", "expected"), [("uint8", [0, 127, 128, 255]), ("int8", [-128, -1, 0, 127])]
)
def test_black_is_the_lowest_integer_and_white_the_highest(dtype: str, expected: list[int]) -> None:
    array = as_input(PIXELS, info(dtype))
    assert array.shape == (1, 2, 2, 1)
    assert array.dtype == dtype
    assert array.ravel().tolist() == expected


@pytest.mark.parametrize(
    ("encoding", "low", "high"),
    [
        (Encoding(1 / 255, -128, "int8"), 0, 1),
        (Encoding(2 / 255, 0, "int8"), -1, 1),
        (Encoding(1.0, 0, "uint8"), 0, 255),
        (Encoding(0.0186, 114, "uint8"), -2.12, 2.62),  # normalised by ImageNet's statistics
    ],
)
def test_a_float_input_gets_the_range_that_the_model_quantizes(
    encoding: Encoding, low: float, high: float
) -> None:
    array = as_input(PIXELS, info("float32"), encoding)
    assert array.dtype == np.float32
    # Zero is one of the steps, so a range may be half a step off.
    np.testing.assert_allclose([array.min(), array.max()], [low, high], atol=encoding.scale * 0.51)


def test_a_float_input_of_unknown_range_gets_reals_from_minus_one_to_one() -> None:
    array = as_input(PIXELS, info("float32"))
    assert (array.min(), array.max(), array.dtype) == (-1, 1, np.float32)


def test_the_file_s_normalization_counts_for_float_inputs_alone() -> None:
    description = Description(mean=(127.5,), std=(127.5,))
    array = as_input(PIXELS, info("float32"), description=replace(description, std=(2.0,)))
    assert (array.min(), array.max(), array.dtype) == (-63.75, 63.75, np.float32)
    plain = as_input(PIXELS, info("int8"))
    np.testing.assert_array_equal(as_input(PIXELS, info("int8"), description=description), plain)
    with pytest.raises(QnnError, match=r"takes a grey picture, .* normalizes 3 channels"):
        as_input(PIXELS, info("float32"), description=Description(mean=(1, 2, 3), std=(1,)))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
def test_channels_may_come_first_as_in_mxnet(dtype: str) -> None:
    pixels = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)
    last, first = info(dtype, (1, 2, 4, 3)), info(dtype, (1, 3, 2, 4))
    assert picture_shape(first) == picture_shape(last) == (2, 4, 3)
    array = as_input(pixels, first)
    assert array.flags.c_contiguous
    np.testing.assert_array_equal(array.transpose(0, 2, 3, 1), as_input(pixels, last))


def test_where_channels_may_come_last_they_do() -> None:
    assert picture_shape(info("uint8", (1, 3, 5, 3))) == (3, 5, 3)
    assert picture_shape(info("uint8", (1, 1, 5, 1))) == (1, 5, 1)


def test_inputs_that_take_no_picture_are_errors() -> None:
    assert picture_shape(info("int8", (1, 5, 7, 3))) == (5, 7, 3)
    for shape in [(1, 640), (2, 5, 7, 3), (1, 5, 7, 2), (1, 2, 5, 7), (2, 3, 5, 7)]:
        with pytest.raises(QnnError, match="does not take one picture"):
            picture_shape(info("int8", shape))
    with pytest.raises(QnnError, match=r"takes \(1, 2, 2, 3\), got a picture \(2, 2, 1\)"):
        as_input(PIXELS, info("int8", (1, 2, 2, 3)))
    with pytest.raises(QnnError, match="of dtype int32 does not take a picture"):
        as_input(PIXELS, info("int32"))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int32", 0, 127), ("int64", 0, 127), ("bool", 0, 1)],
)
def test_noise_takes_every_integer(dtype: str, low: int, high: int) -> None:
    array = noise(info(dtype, (1, 100, 100, 1)))
    assert (array.shape, array.dtype) == ((1, 100, 100, 1), dtype)
    assert set(array.ravel().tolist()) == set(range(low, high + 1))


def test_noise_for_a_float_input_is_between_minus_one_and_one() -> None:
    array = noise(info("float32", (10, 10)))
    assert array.dtype == np.float32
    assert -1 <= array.min() < 0 < array.max() <= 1
    assert not np.array_equal(array, noise(info("float32", (10, 10)), seed=1))


def test_the_encoding_of_a_float_input_is_found_in_the_model() -> None:
    writer = ModelWriter()
    real = writer.tensor("real", (1, 2, 2, 1), "float32")
    quantized = writer.tensor("q", (1, 2, 2, 1), "int8", Quantization.per_tensor(0.25, -3))
    writer.operator("QUANTIZE", [real], [quantized])
    graph = read_model(writer.finish([real], [quantized]))
    assert encoding_after(graph, real) == Encoding(0.25, -3, "int8")
    assert encoding_after(graph, quantized) is None
