"""Resizing of quantized images: the pixels and weights that make a pixel, and the operator."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops import quantized_resize2d
from qnn_ops.quantized.resize2d import FRACTION_BITS, fixed_point_taps, float32_taps
from tests.support.arrays import full_range
from tests.support.errors import failing
from tests.support.litert import litert
from tests.support.operators import module_of

CENTERS: list[dict[str, bool]] = [
    {"align_corners": align, "half_pixel_centers": half}
    for align, half in ((False, False), (True, False), (False, True))
]


@pytest.mark.parametrize("centers", CENTERS)
def test_pixels_stay_on_the_image(centers: dict[str, bool]) -> None:
    # Fixed-point positions of large outputs reach beyond the image, as far as that the C code that
    # they follow would read other memory.
    for size, out_size in ((1, 1), (1, 1500), (3, 4001), (700, 3), (64, 3000), (5, 1)):
        for taps in (float32_taps, fixed_point_taps):
            found = taps(size, out_size, **centers)
            for pixels in (found.lower, found.upper):
                assert pixels.shape == (out_size,)
                assert pixels.min() >= 0
                assert pixels.max() < size
            step = 1 if taps is float32_taps else 1 << FRACTION_BITS
            between = found.upper > found.lower
            assert (found.distance[between] > 0).all()
            assert (found.distance[between] < step).all()


CODES = {"bilinear": "RESIZE_BILINEAR", "nearest_neighbor": "RESIZE_NEAREST_NEIGHBOR"}


@pytest.mark.parametrize("method", ["bilinear", "nearest_neighbor"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(method: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    for index in range(120):
        image, size = rng.integers(1, 40, 2).tolist(), rng.integers(1, 60, 2).tolist()
        if index % 10 == 0:
            size[1] = int(rng.integers(1, 300))
        data = full_range(rng, dtype, (2, *image, 2))
        for centers in CENTERS:
            _check_against_litert(data, size, method, **centers)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("size", [(64, 64), (65, 65), (224, 224), (17, 5)])
def test_equals_litert_at_usual_sizes(dtype: str, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    for image in ((33, 33), (32, 32), (8, 8), (1, 1), (65, 65), (112, 112)):
        data = full_range(rng, dtype, (1, *image, 1))
        for centers in CENTERS:
            _check_against_litert(data, list(size), "bilinear", **centers)


def test_nearest_neighbor_takes_both_kinds_of_centers() -> None:
    rng, both = np.random.default_rng(3), {"align_corners": True, "half_pixel_centers": True}
    for _ in range(40):
        data = full_range(rng, "int8", (1, *rng.integers(1, 20, 2).tolist(), 1))
        _check_against_litert(data, rng.integers(1, 40, 2).tolist(), "nearest_neighbor", **both)


def _check_against_litert(data: Any, size: list[int], method: str, **centers: Any) -> None:
    if method == "bilinear" and data.dtype == np.int8:
        for pixels, out_size in zip(data.shape[1:3], size, strict=True):
            if fixed_point_taps(pixels, out_size, **centers).distance.max() >= 1 << FRACTION_BITS:
                return  # LiteRT reads beyond the image here
    result = quantized_resize2d.evaluate(data, size, method, **centers)
    known = Quantization.per_tensor(0.1, 3)
    operands, kind = [(data, known)], (result.shape, data.dtype.name, known)
    sizes = [(np.array(size, np.int32), None)]
    np.testing.assert_array_equal(result, litert(CODES[method], operands, kind, sizes, **centers))


def test_int8_stays_on_the_image_where_litert_reads_beyond_it() -> None:
    data = np.arange(8, dtype=np.int8).reshape(1, 1, 8, 1)
    result = quantized_resize2d.evaluate(data, (1, 224), "bilinear")
    # A step of 1024 * 8 / 224 = 36.57, rounded to 37, reaches 222 * 37 > 8 * 1024.
    assert (result[0, 0, -28:, 0] == 7).all()


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(
        quantized_resize2d,
        [np.zeros((1, 3, 4, 2), np.int8)],
        **{"size": (5, 7), "method": "bilinear", **change},
    ),
    ({"method": "bicubic"}, "method must be one of bilinear, nearest_neighbor, got 'bicubic'"),
    ({"size": (0, 5)}, "at least one pixel, got 3 by 4 to be resized to 0 by 5"),
    ({"size": (1, 2, 3)}, "size must be an int or 2 ints"),
    ({"layout": "HWC"}, "layout must be one of NHWC, NCHW, got 'HWC'"),
    ({"align_corners": True, "half_pixel_centers": True}, "only one of align_corners and half"),
)


test_data_that_does_not_fit_is_named = failing(
    lambda data: module_of(quantized_resize2d, [data], size=(5, 7), method="bilinear"),
    (np.zeros((1, 3, 4, 2), np.float32), "must be int8 or uint8 or int16, got float32"),
    (np.zeros((3, 4, 2), np.int8), "quantized_data must have 4 dimensions"),
    (np.zeros((1, 0, 4, 2), np.int8), "at least one pixel, got 0 by 4"),
)
