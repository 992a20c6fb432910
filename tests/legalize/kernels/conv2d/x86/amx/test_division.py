import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.cost import nanoseconds
from legalize.kernels.conv2d.x86.amx.division import is_by_pixels, single_nanoseconds
from legalize.kernels.conv2d.x86.amx.plan import cut_to_width
from legalize.kernels.ir.tasks import task_count
from tests.legalize.kernels.conv2d.x86.amx.test_kernel import arguments
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.support.convolutions import problem_of
from tests.support.errors import giving


def divides_pixels(spec: ConvSpec, nr: int) -> bool:
    plan = cut_to_width(spec, nr)
    return is_by_pixels(plan, plan.tiling[0])


test_threads_divide_pixels_unless_other_turns_move_fewer_bytes = giving(
    divides_pixels,
    # Much data beside few weights, and little beside many.
    (sized(17, 17, 768, 192, 1), 2, True),
    (sized(16, 16, 256, 256, 3), 2, False),
    # The same with ten turns in a block, and with five, which two threads cannot halve.
    (sized(17, 17, 160, 160, 3), 2, True),
    (sized(17, 17, 160, 160, 3), 1, False),
    # Turns of a single block are its pixels.
    (sized(35, 35, 192, 64, 1), 4, False),
)


def test_a_single_thread_also_waits_for_data_of_the_other_core() -> None:
    plan = cut_to_width(sized(35, 35, 192, 32, 1), 2)
    alone, among_two = nanoseconds(plan), single_nanoseconds(plan)
    assert among_two == alone + 35 * 35 * 192 / 2 / 10
    assert (task_count(alone / 1000), task_count(among_two / 1000)) == (1, 4)


def test_each_thread_fetches_the_weights_of_all_its_turns() -> None:
    def fetches(spec: ConvSpec) -> int:
        problem = problem_of(spec, np.random.default_rng(0))
        function, _ = arguments(problem, cut_to_width(spec, 2))
        return function.script().count("llvm.prefetch")

    # 24 KiB for each block: in ten turns of twelve chunks, 205 bytes a chunk. Several threads also
    # fetch what the other one does not need.
    assert fetches(sized(17, 17, 768, 192, 1)) == 4 + 4
    # One thread has both turns: 4 KiB in two times two chunks.
    assert fetches(sized(8, 8, 128, 64, 1)) == 16
