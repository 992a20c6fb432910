from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from legalize.kernels.conv2d.spec import ConvSpec, Fusion, OutputStage
from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.dot.plan import products_of
from legalize.kernels.conv2d.x86.tiling import (
    choose_tiling,
    lane_channels,
    registers_of,
    shares_columns,
)
from legalize.kernels.ir.vectors import store_pieces
from legalize.kernels.isa.x86 import (
    AVX2,
    AVX512_VNNI,
    AVX512BW,
    AVX_VNNI,
    ISAS,
    Isa,
    WidenedProducts,
    WordProducts,
)


def make_spec(pixels: int, in_channels: int, out_channels: int, out_dtype: str) -> ConvSpec:
    return ConvSpec(
        pixels, 1, 1, in_channels, 1, 1, out_channels, output=OutputStage(out_dtype, 0, 0, 127)
    )


each_isa = pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)


@each_isa
@pytest.mark.parametrize("pixels", [1, 2, 7, 49, 1000])
@pytest.mark.parametrize("in_channels", [3, 64, 2048])
@pytest.mark.parametrize("out_channels", [1, 16, 17, 80, 96, 192, 320, 1001])
def test_sections_cover_all_channels_within_the_registers(
    isa: Isa, pixels: int, in_channels: int, out_channels: int
) -> None:
    spec = make_spec(pixels, in_channels, out_channels, "uint8")
    next_vector = 0
    for section in choose_tiling(spec, products_of(spec, isa)):
        assert section.first_vector == next_vector
        next_vector += section.blocks * section.nr
        assert section.mr <= pixels
        assert section.mr == 1 or section.mr * section.nr < isa.registers
        # Only a section of one block can end in the middle of a vector.
        assert section.blocks == 1 or next_vector * isa.lanes <= out_channels
    assert next_vector == isa.vectors(out_channels)


@pytest.mark.parametrize(
    ("in_channels", "out_channels", "sections"), [(2048, 512, 1), (512, 176, 2)]
)
def test_a_second_section_must_save_something(
    in_channels: int, out_channels: int, sections: int
) -> None:
    spec = make_spec(49, in_channels, out_channels, "uint8")
    assert len(choose_tiling(spec, products_of(spec, AVX512_VNNI))) == sections


SHORT = ConvSpec(1, 3, 3, 40, 1, 1, 52, fusion=Fusion(is_shared=True))


@pytest.mark.parametrize(
    ("changes", "is_common"),
    [
        ({}, True),
        ({"fusion": Fusion()}, False),
        ({"in_height": 60, "in_width": 60}, False),
        ({"kernel_dtype": "uint8", "has_asymmetric_kernel": True}, False),
        ({"in_height": 5, "in_width": 5, "kernel_height": 3, "kernel_width": 3}, False),
        ({"in_height": 5, "in_width": 5, "strides": (2, 2)}, False),
    ],
)
def test_short_convolutions_take_common_tiles(changes: dict[str, Any], is_common: bool) -> None:
    """Only they may have a block that ends in the middle of a vector beside others."""
    spec = replace(SHORT, **changes)
    tiling = choose_tiling(spec, products_of(spec, AVX512_VNNI))
    assert (tiling == (Section(0, 2, 2, 9),)) == is_common
    assert is_common or all(
        section.blocks == 1 or (section.first_vector + section.blocks * section.nr) * 16 <= 52
        for section in tiling
    )


@each_isa
@pytest.mark.parametrize("out_dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("out_channels", [1, 16, 40, 100, 256])
def test_every_channel_has_one_lane(isa: Isa, out_channels: int, out_dtype: str) -> None:
    spec = make_spec(9, 8, out_channels, out_dtype)
    channels = lane_channels(spec, isa, choose_tiling(spec, products_of(spec, isa)))
    assert channels.shape == (isa.vectors(out_channels), isa.lanes)
    real = channels[channels >= 0]
    np.testing.assert_array_equal(np.sort(real), np.arange(out_channels))


@pytest.mark.parametrize("vectors", range(1, 13))
def test_store_pieces_follow_one_another(vectors: int) -> None:
    pieces = store_pieces(vectors)
    ends = [first + size for first, size in pieces]
    assert [first for first, _ in pieces] == [0, *ends[:-1]]
    assert ends[-1] == vectors
    assert {size for _, size in pieces} <= {1, 2, 4}


def test_words_leave_room_for_larger_tiles() -> None:
    nr, mr = 2, 6
    assert registers_of(WidenedProducts(AVX2), nr, mr) > AVX2.registers
    assert registers_of(WordProducts(AVX2), nr, mr) == AVX2.registers


SHARING = ConvSpec(1, 18, 18, 16, 3, 3, 16)


@pytest.mark.parametrize(
    ("isa", "changes", "mr"),
    [
        (AVX512_VNNI, {}, 16),
        (AVX512_VNNI, {"in_width": 38}, 12),
        (AVX_VNNI, {"in_channels": 8, "out_channels": 8, "in_width": 14}, 12),
        # Nothing is shared by strided pixels, one column, columns apart, or parts of K-steps.
        (AVX512_VNNI, {"strides": (1, 2)}, None),
        (AVX512_VNNI, {"kernel_width": 1}, None),
        (AVX512_VNNI, {"dilation": (1, 2)}, None),
        (AVX512_VNNI, {"in_channels": 6}, None),
        # A row of a prime number of pixels has no tiles.
        (AVX512_VNNI, {"in_width": 25}, None),
        (AVX512BW, {}, None),
        (AVX2, {}, None),
    ],
)
def test_pixels_share_columns_where_they_can(
    isa: Isa, changes: dict[str, Any], mr: int | None
) -> None:
    spec = replace(SHARING, **changes)
    products = products_of(spec, isa)
    (section, *_) = choose_tiling(spec, products)
    assert shares_columns(spec, products, section.nr, section.mr) == (mr is not None)
    assert mr is None or section.mr == mr
