"""The loads of a run of bytes: pieces of a register or less, and none past its end."""

from dataclasses import dataclass

import numpy as np

from legalize.kernels.isa.arm import Isa
from qnn_ops.arrays import Int64Array

_SIZES = (4, 8, 16)


@dataclass(frozen=True)
class Piece:
    """One load of a run.

    Attributes:
        offset: the offset of its first byte in the run.
        size: bytes: 16, 8 or 4.
        first: the number of K-steps left out, because they begin with bytes of earlier pieces.
    """

    offset: int
    size: int
    first: int = 0


def pieces(length: int, isa: Isa) -> tuple[Piece, ...]:
    """Cut a run into loads.

    The last one ends where the run ends, so it may begin with bytes of the one before.

    Args:
        length: bytes of the run, at least ``isa.depth``.
        isa: the instruction set.
    """
    sizes = [size for size in _SIZES if isa.depth <= size <= min(length, isa.largest)]
    whole, rest = divmod(length, sizes[-1])
    cut = [Piece(number * sizes[-1], sizes[-1]) for number in range(whole)]
    if rest:
        size = next(size for size in sizes if size >= rest)
        cut.append(Piece(length - size, size, size // isa.depth - -(-rest // isa.depth)))
    return tuple(cut)


def k_step_bytes(length: int, isa: Isa) -> Int64Array:
    """Tell which byte of a run each byte of a K-step multiplies.

    Returns:
        int64 of shape [K-steps, depth]; -1 where the byte was multiplied before.
    """
    rows = []
    covered = 0
    for piece in pieces(length, isa):
        places = piece.offset + np.arange(piece.first * isa.depth, piece.size)
        rows.append(np.where(places >= covered, places, -1))
        covered = piece.offset + piece.size
    return np.concatenate(rows).reshape(-1, isa.depth)
