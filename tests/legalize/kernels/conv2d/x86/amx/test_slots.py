import pytest

from legalize.kernels.conv2d.x86.amx.slots import Slots, slots_of
from tests.support.errors import giving

test_four_pixels_follow_a_product_where_that_is_enough = giving(
    slots_of,
    # Many chunks: four pixels after the last product of the first ones.
    (16, 2, 36, 4, Slots(2, (3,), 8)),
    (16, 1, 36, 4, Slots(4, (3,), 4)),
    (16, 2, 4, 4, Slots(2, (0, 1, 3), 8)),
    (16, 1, 2, 4, Slots(4, (0, 1, 3), 4)),
    # Few: more pixels a slot.
    (16, 2, 2, 4, Slots(4, (0, 1, 2, 3), 4)),
    # One: all slots follow the last product.
    (16, 2, 1, 4, Slots(2, (3,), 8)),
    # Narrow blocks have fewer products.
    (13, 1, 2, 1, Slots(7, (0,), 2)),
    (1, 1, 5, 3, Slots(1, (2,), 1)),
)


@pytest.mark.parametrize("tiles", [1, 2])
def test_every_row_is_in_a_slot(tiles: int) -> None:
    for rows in range(1, 17):
        for chunks in range(1, 40):
            for products in range(1, 5):
                slots = slots_of(rows, tiles, chunks, products)
                assert set(slots.after) <= set(range(products))
                places = [(0, slots.after[-1])]
                places += [(chunk, each) for chunk in range(1, chunks) for each in slots.after]
                numbers = [slots.number(*place) for place in places]
                assert numbers == list(range(len(numbers)))
                assert slots.count <= len(numbers) or chunks == 1
                firsts = [
                    min(number * slots.rows, rows - slots.rows) for number in range(slots.count)
                ]
                seen = {first + i for first in firsts for i in range(slots.rows)}
                assert seen == set(range(rows))
