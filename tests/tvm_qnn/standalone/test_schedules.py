from collections.abc import Sequence

import tvm

from legalize.passes.stems import Stem, stems_of
from tests.support.stems import network
from tvm_qnn.standalone.schedules import Schedule, peak, schedules


def told(mod: tvm.IRModule) -> tuple[Sequence[Stem], list[Schedule]]:
    function = mod["main"]
    stems = stems_of(function)
    return stems, [*schedules(function, stems)]


def test_rows_of_strips_take_products_and_memory() -> None:
    # The first convolution's result, read twice, beside the depthwise one's.
    assert peak(network()["main"]) == 2 * 13 * 6 * 8
    stems, found = told(network())
    (schedule,) = (each for each in found if each.strips.stem == 1 and each.strips.rows == 2)
    row, each, low = [count for count in stems[1].products.values() if count]
    # 20 rows of the first convolution instead of 13, 14 of the next, which has 13, and all 6.
    assert schedule.products == 6 * row + 1 * each
    assert low
    assert (schedule.count, schedule.layers) == (3, 4)
    _, found = told(network())
    rows = [each for each in found if each.strips.stem == 1]
    assert [each.strips.rows for each in rows] == [1, 2, 3]
    assert rows[0].estimate < rows[-1].estimate < peak(network()["main"]) + 13 * 6 * 4
    assert rows[0].products > rows[-1].products > 0
