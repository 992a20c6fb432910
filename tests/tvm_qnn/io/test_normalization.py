import numpy as np
import pytest

from frontends.summary import Description
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.normalization import Normalization, normalization_of, normalized

PIXELS = np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8)
REAL = TensorInfo("image", (1, 1, 2, 3), "float32")
RANGED = TensorInfo("image", (1, 1, 2, 3), "float32", low=-2.0, high=3.1)
INTEGER = TensorInfo("image", (1, 1, 2, 3), "int8", 0.5, -8)
GIVEN = Normalization((127.5,), (127.5,), "a person")


def ends(info: TensorInfo, normalization: Normalization | None) -> list[list[float]]:
    array = normalized(PIXELS, info, normalization)
    assert array.dtype == info.dtype
    return [row.tolist() for row in array[0]]


def test_what_a_person_says_counts_for_integers_too() -> None:
    found = normalization_of(INTEGER, given=GIVEN)
    assert ends(INTEGER, found) == [[-10] * 3, [-6] * 3]  # -1 / 0.5 - 8 and 1 / 0.5 - 8


def test_pictures_that_an_input_does_not_take_are_errors() -> None:
    with pytest.raises(QnnError, match="'image' has no scale that tells what its integers"):
        ends(TensorInfo("image", (1, 1, 2, 3), "uint8"), GIVEN)
    with pytest.raises(QnnError, match="takes pictures of 3 channels, but the file normalizes 2"):
        ends(REAL, Normalization((0.0, 51.0), (255.0,), "the file"))


@pytest.mark.parametrize("given", [None, GIVEN])
def test_a_person_counts_before_the_file_and_the_range(given: Normalization | None) -> None:
    description = Description(mean=(0.0, 55.0, 155.0), std=(100.0,))
    found = normalization_of(RANGED, description, given)
    black, white = ends(RANGED, found)
    if given:
        assert (black, white) == ([-1] * 3, [1] * 3)
    else:
        np.testing.assert_allclose(black, [0, -0.55, -1.55], rtol=1e-6)
        np.testing.assert_allclose(white, [2.55, 2, 1], rtol=1e-6)


def test_black_and_white_are_the_ends_of_the_range_that_the_model_quantizes_to() -> None:
    found = normalization_of(RANGED, Description())
    black, white = ends(RANGED, found)
    np.testing.assert_allclose(black + white, [-2.0] * 3 + [3.1] * 3, rtol=1e-6)
    assert found is not None
    assert not found.is_guess
    assert found.describe() == (
        "black is -2 and white 3.1: the range that the model quantizes this input to"
    )


def test_what_nobody_says_is_a_guess() -> None:
    found = normalization_of(REAL)
    assert found is not None
    assert found.is_guess
    assert ends(REAL, found) == [[-1] * 3, [1] * 3]
    assert normalization_of(INTEGER) is None
    assert normalization_of(INTEGER, Description(mean=(1.0,), std=(2.0,))) is None
    assert ends(INTEGER, None) == [[-128] * 3, [127] * 3]


def test_each_channel_is_described() -> None:
    found = Normalization((0.0, 51.0), (255.0,), "the file")
    assert found.describe() == "black is 0, -0.2 and white 1, 0.8: the file"


@pytest.mark.parametrize("dtype", ["int32", "int16", "bool"])
def test_other_dtypes_take_no_picture(dtype: str) -> None:
    with pytest.raises(QnnError, match=f"of dtype {dtype} does not take a picture"):
        normalized(PIXELS, TensorInfo("image", (1, 1, 2, 3), dtype), None)
