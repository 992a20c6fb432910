"""Tiles of sums of float32, which stay in registers."""

from itertools import chain

from legalize.kernels.ir.vectors import Sums, get_lanes, local_vector, set_lanes, splat


def zeros(rows: int, vectors: int, lanes: int) -> Sums:
    """Allocate sums, and write zeros to them."""
    sums = [[local_vector(lanes, "float32") for _ in range(vectors)] for _ in range(rows)]
    for each in chain(*sums):
        set_lanes(each, splat("float32", 0.0, lanes))
    return sums


def add_parts(sums: Sums, parts: Sums) -> None:
    """Add sums of parts to sums."""
    for total, part in zip(chain(*sums), chain(*parts), strict=True):
        set_lanes(total, get_lanes(total) + get_lanes(part))


def tile_size(count: int, most: int) -> int:
    """Choose a tile's number of rows, for few repeated rows and few loads for each product."""
    sizes = range(1, min(count, most) + 1)
    return min(sizes, key=lambda size: (-(-count // size) * (size + 1), -size))
