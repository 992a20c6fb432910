import numpy as np
import pytest

from legalize.kernels.conv2d.arm.runs import Piece, k_step_bytes, pieces
from legalize.kernels.isa.arm import ARMV7, DOTPROD, I8MM, NEON, Isa


@pytest.mark.parametrize("isa", [I8MM, DOTPROD, NEON, ARMV7], ids=lambda isa: isa.name)
@pytest.mark.parametrize("length", [*range(4, 70), 100, 255])
def test_each_byte_is_multiplied_once_and_none_outside(isa: Isa, length: int) -> None:
    if length < isa.depth:
        return
    for piece in pieces(length, isa):
        assert piece.size <= isa.largest
        assert 0 <= piece.offset <= length - piece.size
    places = k_step_bytes(length, isa).ravel()
    assert sorted(places[places >= 0]) == list(range(length))
    k_steps = sum(piece.size // isa.depth - piece.first for piece in pieces(length, isa))
    assert k_step_bytes(length, isa).shape == (k_steps, isa.depth)
    assert k_steps == -(-length // isa.depth)


def test_a_rest_ends_where_the_run_ends() -> None:
    assert pieces(23, DOTPROD) == (Piece(0, 16), Piece(15, 8))
    assert pieces(19, DOTPROD) == (Piece(0, 16), Piece(15, 4))
    assert pieces(25, DOTPROD) == (Piece(0, 16), Piece(9, 16, 1))
    assert pieces(6, DOTPROD) == (Piece(0, 4), Piece(2, 4))
    np.testing.assert_array_equal(k_step_bytes(6, DOTPROD), [[0, 1, 2, 3], [-1, -1, 4, 5]])
