"""The slots between the products of a turn, where pixels of the turn before are rescaled.

Tiles and vectors have units of their own, which work at the same time if their instructions
alternate. Pixels are spread over as many chunks as possible. A slot rescales two pixels, as their
vectors of the same channels share constants, and more only if there are too few products.
"""

from dataclasses import dataclass

_PIXELS = (2, 4)
_A_CHUNK = (1, 2, 4)


@dataclass(frozen=True)
class Slots:
    """The slots in which rows of a turn's tiles are rescaled, the same rows of each tile.

    Attributes:
        rows: the rows of a slot.
        after: the products of a chunk after which there is a slot.
        chunks: how many of the first chunks have slots.
    """

    rows: int
    after: tuple[int, ...]
    chunks: int

    def first_row(self, chunk: int, product: int) -> int:
        """Return the first row of the slot after a product; it may be past the last row."""
        return (chunk * len(self.after) + self.after.index(product)) * self.rows


def slots_of(rows: int, tiles: int, chunks: int, products: int) -> Slots:
    """Choose the slots of a turn.

    Args:
        rows: rows of a tile of the turn before.
        tiles: tiles of pixels of that turn.
        chunks: chunks of the turn.
        products: products of a chunk.
    """
    sizes = [-(-pixels // tiles) for pixels in _PIXELS]
    ways = [(size, count) for size in sizes for count in _A_CHUNK if count <= products]
    enough = (way for way in ways if way[0] * way[1] * chunks >= rows)
    size, count = next(enough, ways[-1])
    size = min(max(size, -(-rows // (count * chunks))), rows)
    after = tuple(products * (slot + 1) // count - 1 for slot in range(count))
    return Slots(size, after, -(-rows // (count * size)))
