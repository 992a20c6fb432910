from dataclasses import replace

import pytest

from legalize.kernels.conv2d.arm.tiling import choose_tiling, fits, vectors_of
from legalize.kernels.ir.vectors import store_pieces
from legalize.kernels.isa.arm import DOTPROD, ISAS, Isa
from legalize.kernels.isa.neon import LANES
from tests.support.convolutions import SPEC

each_isa = pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)


@each_isa
@pytest.mark.parametrize("out_channels", [1, 4, 17, 24, 64, 90, 1001])
@pytest.mark.parametrize("size", [4, 9])
def test_sections_cover_the_channels_and_tiles_fit(isa: Isa, out_channels: int, size: int) -> None:
    spec = replace(SPEC, in_height=size, in_width=size, out_channels=out_channels)
    tiling = choose_tiling(spec, isa)
    first = 0
    for section in tiling:
        assert section.first_vector == first
        first += section.blocks * section.nr
        assert section.mr % isa.pixels == 0
        assert section.mr <= spec.out_pixels
        assert fits(spec, isa, section.nr, section.mr)
    assert first == vectors_of(spec)
    # Only a single block may have fewer channels than lanes.
    assert tiling[-1].blocks == 1 or out_channels % LANES == 0


@each_isa
def test_large_layers_reuse_what_they_load(isa: Isa) -> None:
    spec = replace(SPEC, in_height=30, in_width=30, in_channels=64, out_channels=96)
    for section in choose_tiling(spec, isa):
        assert section.mr * section.nr >= (4 if isa.registers == 16 else 9)


def test_short_loops_have_smaller_tiles() -> None:
    """LLVM unrolls two K-steps, and loads the data of both before it multiplies any."""
    wide = replace(SPEC, in_height=28, in_width=28, kernel_height=1, kernel_width=1)
    (long,) = choose_tiling(replace(wide, in_channels=64, out_channels=192), DOTPROD)
    (short,) = choose_tiling(replace(wide, in_channels=32, out_channels=192), DOTPROD)
    assert (long.mr, long.nr) == (6, 4)
    assert (short.mr, short.nr) == (5, 4)


def test_stores_are_as_wide_as_they_can_be() -> None:
    assert store_pieces(7) == [(0, 4), (4, 2), (6, 1)]
    assert store_pieces(8) == [(0, 4), (4, 4)]
