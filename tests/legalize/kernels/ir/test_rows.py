from legalize.kernels.ir.rows import powers_of_two
from tests.support.errors import giving

test_powers_of_two = giving(
    powers_of_two,
    (0, []),
    (1, [(0, 1)]),
    (8, [(0, 8)]),
    (13, [(0, 8), (8, 4), (12, 1)]),
)
