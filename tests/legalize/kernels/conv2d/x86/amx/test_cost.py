from dataclasses import replace

import pytest

from legalize.kernels.conv2d.spec import ConvSpec, Fusion, OutputStage, Residual
from legalize.kernels.conv2d.x86.amx.cost import (
    NANOSECONDS,
    VECTOR_UNIT,
    Terms,
    cost,
    nanoseconds,
    terms,
    vector_nanoseconds,
)
from legalize.kernels.conv2d.x86.amx.plan import cut, cut_to_width
from legalize.kernels.isa.base import AffineForm
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.support.convolutions import changed

RELU = OutputStage("uint8", 0, 0, 255)
SUM = Fusion(residual=Residual("uint8", AffineForm(1, 1, 0, 1, 0), RELU))


def pointwise(size: int, channels: int, out_channels: int) -> ConvSpec:
    return replace(sized(size, size, channels, out_channels, 1), output=RELU)


def test_terms_count_turns_products_and_vectors() -> None:
    # 14 · 14 pixels are 13 tiles of 16; 256 channels four chunks; 128 channels eight vectors.
    spec = pointwise(14, 256, 128)
    wide, narrow = (terms(cut_to_width(spec, nr)) for nr in (4, 2))
    assert wide == Terms(
        calls=1,
        turns=2 * 13,
        products=2 * 13 * 4 * 4,
        loads=2 * 13 * 4 * (4 + 1),
        far_tiles=2 * 13 * 4,
        vectors=8 * 13 * 16,
    )
    assert narrow == Terms(
        calls=1,
        turns=4 * 7,
        products=4 * 7 * 4 * 4,
        loads=4 * 7 * 4 * (2 + 2),
        far_tiles=4 * 7 * 4 * 2,
        vectors=8 * 14 * 16,
    )


def test_weights_beyond_the_nearest_cache_are_far() -> None:
    # Of 20 chunks, two vectors have 40 KiB of weights; beside 25 pixels there are 71 KiB.
    spec = pointwise(5, 1280, 64)
    # The data is beyond it, too.
    assert terms(cut_to_width(spec, 2)).far_tiles == 2 * 20 * (2 + 2)


def test_tiles_that_a_hint_keeps_out_of_the_nearest_cache_are_passing() -> None:
    # Beside 24 KiB of weights, 24 KiB of data pass by: in two turns, twelve chunks of two tiles.
    assert terms(cut_to_width(pointwise(8, 768, 32), 2))[4:6] == (0, 48)
    assert terms(cut_to_width(pointwise(3, 576, 64), 4))[4:6] == (0, 0)
    # 81 chunks of weights of a convolution 3 × 3 pass by its data.
    spec = replace(sized(7, 7, 576, 64, 3), output=RELU)
    plan = cut_to_width(spec, 4)
    assert terms(plan).passing_tiles == plan.turns(plan.tiling[0]) * 81 * 4


def test_data_that_stays_in_the_nearest_cache_is_near() -> None:
    # 7 · 7 pixels of 512 bytes: beside weights of 16 KiB they stay there, beside 32 KiB not.
    spec = pointwise(7, 512, 64)
    assert terms(cut_to_width(spec, 2)).far_tiles == 0
    assert terms(cut_to_width(spec, 4)).far_tiles > 0


def test_rows_that_begin_nowhere_on_a_line_are_askew() -> None:
    assert terms(cut(pointwise(14, 80, 64))).askew_tiles > 0
    assert terms(cut(pointwise(14, 128, 64))).askew_tiles == 0
    assert terms(cut(pointwise(14, 32, 64))).askew_tiles == 0


def test_what_a_vector_takes_depends_on_its_arithmetic() -> None:
    spec = pointwise(14, 128, 64)
    plain = terms(cut_to_width(spec, 4))
    assert plain.vectors == 4 * 13 * 16
    for changes, name in (
        ({"low": 0, "zero_point": 3}, "floors"),
        ({"has_asymmetric_kernel": True}, "pixel_sums"),
        ({"residual": SUM.residual}, "sums"),
    ):
        found = terms(cut_to_width(changed(spec, **changes), 4))
        assert found == plain._replace(**{name: plain.vectors})
    found = terms(cut_to_width(changed(spec, residual=SUM.residual), 2))
    assert (found.sums, found.narrow_sums) == (0, found.vectors)


@pytest.mark.parametrize(
    ("spec", "nr", "measured"),
    [
        # Microseconds of hardware; a tenth of the estimates is further off than 26 %.
        (replace(pointwise(56, 64, 256), fusion=SUM), 2, 142),
        (replace(pointwise(56, 64, 256), fusion=SUM), 4, 122),
        (replace(pointwise(28, 128, 512), fusion=SUM), 4, 72),
        (replace(pointwise(14, 256, 1024), fusion=SUM), 4, 47),
        (replace(sized(73, 73, 80, 192, 3), padding=(0, 0, 0, 0), output=RELU), 2, 363),
    ],
)
def test_estimates_are_near_times_of_hardware(spec: ConvSpec, nr: int, measured: float) -> None:
    spec = changed(spec, low=0)
    assert nanoseconds(cut_to_width(spec, nr)) / 1000 == pytest.approx(measured, rel=0.3)


def test_tiles_must_save_more_than_a_little() -> None:
    plan = cut(pointwise(14, 256, 128))
    among_others = nanoseconds(plan) - NANOSECONDS.calls + 1000
    assert cost(plan) * VECTOR_UNIT * 0.85 == pytest.approx(among_others)
    assert vector_nanoseconds(plan.spec) > nanoseconds(plan)


def test_a_sum_costs_vectors_time_too() -> None:
    spec = pointwise(56, 64, 256)
    vectors = 56 * 56 * 256 / 16
    more = vector_nanoseconds(replace(spec, fusion=SUM)) - vector_nanoseconds(spec)
    # The last tile does some pixels again.
    assert more == pytest.approx(11 * VECTOR_UNIT * vectors, rel=0.01)
    # Measured: 66 and 69 µs, on a machine whose times drift by a tenth.
    assert more == pytest.approx(67_500, rel=0.1)
