from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.border import Border
from legalize.kernels.conv2d.spec import ConvSpec, Fusion
from legalize.kernels.conv2d.x86.amx.places import (
    chunk_places,
    outputs_of_rows,
    pixels_of_rows,
    tile_places,
)
from legalize.kernels.conv2d.x86.amx.plan import cut_to_width
from legalize.kernels.kernel import Slice
from tests.support.convolutions import SPEC

POINTWISE = replace(SPEC, in_height=20, in_width=21, in_channels=64, out_channels=32)
POINTWISE = replace(POINTWISE, kernel_height=1, kernel_width=1, staged_dtype="uint8")
WINDOW = replace(POINTWISE, kernel_height=3, kernel_width=3)
STRIDED = replace(WINDOW, in_height=37, in_width=37, strides=(2, 2))
# Tiles down the image compute the last column.
NARROW = replace(WINDOW, kernel_height=1, in_height=17, in_width=19)
BORDERED = Fusion(border=Border((1, 2, 1, 0), 3), part=Slice(48, 16))


@pytest.mark.parametrize("fusion", [Fusion(), BORDERED])
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("spec", [POINTWISE, WINDOW, STRIDED, NARROW])
def test_rows_of_tiles_write_each_output_pixel_to_its_place(
    spec: ConvSpec, batch: int, fusion: Fusion
) -> None:
    spec = replace(spec, batch=batch, fusion=fusion)
    plan = cut_to_width(spec, 2)
    top, left, *_ = (0, 0) if fusion.border is None else fusion.border.widths
    _, height, width, whole = spec.target_shape
    image, y, x = np.indices((batch, spec.out_height, spec.out_width))
    place = ((image * height + y + top) * width + x + left) * whole + spec.target.first
    pixels, outputs = pixels_of_rows(plan), outputs_of_rows(plan)
    is_real = pixels >= 0
    assert is_real[:, : plan.rows].all() != plan.has_gaps
    assert not is_real[:, plan.rows :].any()
    assert set(pixels[is_real].tolist()) == set(range(spec.out_pixels))
    np.testing.assert_array_equal(outputs[is_real], place.ravel()[pixels[is_real]])
    np.testing.assert_array_equal(outputs < 0, ~is_real)


@pytest.mark.parametrize("spec", [POINTWISE, WINDOW, STRIDED, NARROW])
def test_tiles_read_the_data_of_their_pixels(spec: ConvSpec) -> None:
    plan = cut_to_width(replace(spec, batch=2), 2)
    offset, pitch = tile_places(plan).T[:, :, None]
    data = offset + pitch * np.arange(plan.rows)
    pixels = pixels_of_rows(plan)[:, : plan.rows]
    image, y, x = np.unravel_index(np.maximum(pixels, 0), (2, spec.out_height, spec.out_width))
    _, height, width, channels = spec.staged_shape
    first = ((image * height + y * spec.strides[0]) * width + x * spec.strides[1]) * channels
    np.testing.assert_array_equal(data[pixels >= 0], first[pixels >= 0])


def test_chunks_begin_within_their_run_and_cover_it() -> None:
    spec = replace(WINDOW, in_channels=80, dilation=(2, 1))
    plan = cut_to_width(spec, 2)
    row = spec.staged_shape[2] * 80
    # Three runs of 240 bytes, two rows apart; the last chunk ends where its run ends.
    assert (plan.chunk, plan.chunks) == (64, 4)
    inside = [0, 64, 128, 176]
    assert chunk_places(plan).tolist() == [2 * ky * row + at for ky in range(3) for at in inside]
