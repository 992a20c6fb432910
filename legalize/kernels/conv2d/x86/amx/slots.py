"""The slots between the products of a turn, where pixels of the turn before are rescaled.

Tiles and vectors have units of their own, which work at the same time if their instructions
alternate. Pixels are spread over as many chunks as possible. The sums of the turn before are stored
beside the products of the first chunk. So the first slot follows the last of these products. A slot
rescales four pixels, and more only if there are too few products.
"""

from dataclasses import dataclass

from legalize.kernels.ir.vectors import Index

_PIXELS = 4


@dataclass(frozen=True)
class Slots:
    """The slots in which rows of a turn's tiles are rescaled, the same rows of each tile.

    Attributes:
        rows: the rows of a slot.
        after: the products of a chunk after which there is a slot; the last one alone in the first
            chunk.
        count: how many slots rescale all rows. If there is one chunk, they follow each other.
    """

    rows: int
    after: tuple[int, ...]
    count: int

    def number(self, chunk: Index, product: int) -> Index:
        """Return the number of the slot after a product of a chunk.

        There is no slot with a negative number, or with one past the last slot's.
        """
        return (chunk - 1) * len(self.after) + self.after.index(product) + 1


def slots_of(rows: int, tiles: int, chunks: int, products: int) -> Slots:
    """Choose the slots of a turn.

    Args:
        rows: rows of a tile of the turn before.
        tiles: tiles of pixels of that turn.
        chunks: chunks of the turn.
        products: products of a chunk.
    """
    size = min(-(-_PIXELS // tiles), rows)
    a_chunk = 1
    if chunks > 1:
        further = -(-rows // size) - 1
        a_chunk = min(max(-(-further // (chunks - 1)), 1), products)
        size = max(size, -(-rows // (1 + a_chunk * (chunks - 1))))
    after = tuple(products * (slot + 1) // a_chunk - 1 for slot in range(a_chunk))
    return Slots(size, after, -(-rows // size))
