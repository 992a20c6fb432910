"""The shape of a dense layer with weights of a few bits, and the layout of its weights."""

from dataclasses import dataclass
from math import gcd

import numpy as np

from legalize.kernels.ir.vectors import Array
from qnn_ops.quantized.blockwise_dense import integers_of

GROUP = 16
"""The fewest adjacent units of weights in memory: as many as the smallest register has bytes."""

QUAD = 4
"""The neighbours whose products with bytes one int32 adds."""

_BYTE = 8


@dataclass(frozen=True)
class Blockwise:
    """A product of rows of float32 and weights of a few bits.

    Attributes:
        rows: rows of data.
        depth: numbers in a row.
        units: numbers in a row of the result.
        bits: bits of a weight.
        size: weights in a block.
        points: the dtype of zero points; empty if all of them are ``middle``.
        middle: the common zero point.
        has_quads: whether the four bytes of an int32 are neighbours along the depth of one unit;
            otherwise neighbouring bytes belong to neighbouring units.
        most_adjacent: the most units whose numbers for a place of the depth are adjacent in memory,
            if that many fill the groups.
    """

    rows: int
    depth: int
    units: int
    bits: int
    size: int
    points: str
    middle: float
    has_quads: bool = False
    most_adjacent: int = GROUP

    @property
    def adjacent(self) -> int:
        """Units whose numbers for a place of the depth are adjacent in memory."""
        return gcd(self.groups * GROUP, self.most_adjacent)

    @property
    def groups(self) -> int:
        """Groups of units; the last one may have fewer units, and is filled with weights of 0."""
        return -(-self.units // GROUP)

    @property
    def blocks(self) -> int:
        """Blocks of a unit; the last one may be shorter."""
        return -(-self.depth // self.size)

    @property
    def in_byte(self) -> int:
        """Neighbours along the depth that share a byte."""
        return _BYTE // self.bits

    @property
    def steps(self) -> int:
        """Bytes of a unit."""
        return self.blocks * self.size // self.in_byte

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of packed weights and scales, and of zero points, if there are any."""
        numbers = (self.groups, self.blocks, GROUP)
        weights = (self.groups, self.steps, GROUP)
        return [weights, numbers, numbers] if self.points else [weights, numbers]

    @property
    def dtypes(self) -> list[str]:
        """The dtypes of these arrays."""
        return ["uint8", "float32", self.points] if self.points else ["uint8", "float32"]

    def packed(self, *arrays: Array) -> list[Array]:
        """Lay out weights, scales and zero points so that those of a group are adjacent."""
        weights, *numbers = arrays
        pairs = zip(numbers, self.dtypes[1:], strict=False)  # a common zero point is not stored
        others = [self._grouped(array.astype(dtype)) for array, dtype in pairs]
        if self.has_quads:
            return [self._grouped(self._quads(weights), QUAD), *others]
        return [self._grouped(weights), *others]

    def _quads(self, weights: Array) -> Array:
        """Pack into bytes: four bytes hold four neighbours in their lowest bits, then the next."""
        fields = integers_of(weights, self.bits).reshape(len(weights), -1, self.in_byte, QUAD)
        shifts = np.arange(0, _BYTE, self.bits, dtype=np.uint8)[:, np.newaxis]
        whole = np.bitwise_or.reduce(fields << shifts, axis=2)
        return np.asarray(whole.reshape(len(weights), -1), np.uint8)

    def _grouped(self, array: Array, together: int = 1) -> Array:
        whole = np.zeros((self.groups * GROUP, array.shape[1]), array.dtype)
        whole[: self.units] = array
        split = whole.reshape(-1, self.adjacent, array.shape[1] // together, together)
        split = split.swapaxes(1, 2)
        return np.ascontiguousarray(split).reshape(self.groups, -1, GROUP)


def point_dtype(points: Array) -> str:
    """Choose the dtype that holds zero points: bytes if they are integers that fit."""
    fits = np.array_equal(points, np.clip(np.rint(points), 0, np.iinfo(np.uint8).max))
    return "uint8" if fits else "float32"


def one_point(points: list[Array], middle: float) -> float | None:
    """Return the zero point of all weights; None if they have several.

    Args:
        points: the blocks' zero points, in one array or in none.
        middle: the zero point if none are stated.
    """
    if not points:
        return middle
    first = points[0].flat[0]
    return float(first) if (points[0] == first).all() else None
