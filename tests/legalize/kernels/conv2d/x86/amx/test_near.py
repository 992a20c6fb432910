from dataclasses import replace

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.near import Hints, Working, hints, working
from legalize.kernels.conv2d.x86.amx.plan import cut_copied_to_width, cut_to_width
from tests.legalize.kernels.conv2d.x86.amx.test_kernel import arguments
from tests.legalize.kernels.conv2d.x86.amx.test_kernel import pointwise as problem_of
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.support.errors import giving


def hints_of(spec: ConvSpec, nr: int) -> Hints:
    plan = cut_to_width(spec, nr)
    return hints(plan, plan.tiling[0])


def test_a_turn_reads_weights_of_its_vectors_and_data_of_its_pixels() -> None:
    plan = cut_to_width(sized(14, 14, 1024, 256, 1), 2)
    assert working(plan, plan.tiling[0]) == Working(2 * 16 * 1024, 2 * 16 * 1024, 1)


def test_taps_read_data_several_times() -> None:
    plan = cut_to_width(sized(14, 14, 256, 256, 3), 2)
    found = working(plan, plan.tiling[0])
    assert found.reads == 9
    assert found.data == plan.tiling[0].mr * 9 * 256 / 9
    copied = cut_copied_to_width(replace(sized(15, 15, 512, 512, 3), strides=(2, 2)), 2)
    assert copied is not None
    assert working(copied, copied.tiling[0]).reads == 1


test_what_does_not_fit_beside_the_other_passes_by = giving(
    hints_of,
    # 36 KiB of weights and one of data stay near.
    (sized(56, 56, 64, 64, 3), 4, Hints()),
    (sized(56, 56, 256, 64, 1), 4, Hints()),
    # Each put out the other: 32 KiB and 32; 24 and 24.
    (sized(14, 14, 1024, 256, 1), 2, Hints(data=True)),
    (sized(17, 17, 768, 192, 1), 2, Hints(data=True)),
    # Weights that do not fit, which leave the data where it is: 64 KiB beside 16.
    (sized(14, 14, 1024, 256, 1), 4, Hints(weights=True)),
    (sized(14, 14, 256, 256, 3), 2, Hints(weights=True)),
    # Neither would stay.
    (sized(8, 8, 2048, 448, 1), 2, Hints()),
)


def test_the_kernel_loads_with_the_hint() -> None:
    problem = problem_of(in_channels=1024, out_channels=64)
    plan = cut_to_width(problem.spec, 2)
    assert hints(plan, plan.tiling[0]) == Hints(data=True)
    text = arguments(problem, plan)[0].script()
    # Two tiles of data; the others are as many of weights, and the bias.
    assert text.count("tileloaddt164") == 2
    assert text.count("tileloadd64") == 2 + 4
