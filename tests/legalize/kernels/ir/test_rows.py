import pytest

from legalize.kernels.ir.rows import powers_of_two


@pytest.mark.parametrize(
    ("count", "pieces"),
    [(0, []), (1, [(0, 1)]), (8, [(0, 8)]), (13, [(0, 8), (8, 4), (12, 1)])],
)
def test_powers_of_two(count: int, pieces: list[tuple[int, int]]) -> None:
    assert powers_of_two(count) == pieces
