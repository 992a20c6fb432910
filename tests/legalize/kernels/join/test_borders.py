import numpy as np

from legalize.kernels.border import Border
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.x86_vectors import VECTORS
from legalize.kernels.join.byte_changes import Change, Clamp, Table
from legalize.kernels.join.kernel import Part, join
from qnn_ops.arrays import Array
from tests.support.arrays import full_range
from tests.support.kernels import VNNI, Place, at_x86
from tests.support.programs import Case

ISAS = {isa.name: isa for isa in VECTORS}
# The number of images, rows and columns; channels of each tensor; and the border.
SHAPES = [
    ((2, 5, 6), [16], Border((1, 1, 1, 1), 200)),
    ((1, 3, 7), [3], Border((0, 3, 2, 0), 0)),
    ((1, 1, 1), [70], Border((5, 0, 0, 4), 7)),
    ((2, 4, 3), [16, 5], Border((1, 2, 3, 4), 255)),
    ((1, 6, 9), [64, 96, 1], Border((0, 1, 0, 0), 31)),
    # Shared among threads, if there are several.
    ((1, 200, 30), [64, 64], Border((1, 1, 1, 1), 9)),
]


def case_of(
    isa: VectorIsa, number: int, images: tuple[int, ...], widths: list[int], border: Border
) -> tuple[Case, Array]:
    rng = np.random.default_rng(number)
    data = [full_range(rng, "uint8", (*images, width)) for width in widths]
    table = full_range(rng, "uint8", (256,))
    parts, tables, expected = [], [], []
    for place, each in enumerate(data):
        # The first one is looked up, the others are copied.
        change: Change = Clamp(0, 255) if place else Table()
        parts.append(Part(each.shape, "uint8", change))
        tables += [] if place else [isa.packed_table(table)]
        expected.append(each if place else table[each])
    axis = 2 if len(data) == 1 else 3
    top, left, bottom, right = border.widths
    around = (0, 0), (top, bottom), (left, right), (0, 0)
    wanted = np.pad(np.concatenate(expected, axis=3), around, constant_values=border.value)
    function = join(isa, tuple(parts), axis, "uint8", border=border)
    return Case(function, [*data, *tables], wanted.shape, "uint8"), wanted


@at_x86(ISAS.keys() - {VNNI})
def test_what_is_joined_has_its_border(place: Place) -> None:
    isa = ISAS[place.name]
    cases, expected = zip(
        *(case_of(isa, number, *shape) for number, shape in enumerate(SHAPES)), strict=True
    )
    for result, wanted in zip(place.run(list(cases)), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)
