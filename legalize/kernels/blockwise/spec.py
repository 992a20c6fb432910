"""A dense layer of weights of a few bits, as the kernels take it, and how its weights lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from legalize.kernels.ir.types import Array

GROUP = 16
"""Units whose weights lie side by side: the bytes of the smallest register."""

_BYTE = 8


@dataclass(frozen=True)
class Blockwise:
    """A product of rows of float32 and weights of a few bits.

    Attributes:
        rows: of data.
        depth: numbers of a row.
        units: numbers of a row of the result.
        bits: of a weight.
        size: weights of a block.
        points: the dtype of zero points; empty where each is ``middle``.
        middle: the zero point of all.
    """

    rows: int
    depth: int
    units: int
    bits: int
    size: int
    points: str
    middle: float

    @property
    def groups(self) -> int:
        """Groups of units; the last one may have fewer, and weights of 0."""
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
        """Their dtypes."""
        return ["uint8", "float32", self.points] if self.points else ["uint8", "float32"]

    def packed(self, *arrays: Array) -> list[Array]:
        """Lay out weights, scales and zero points of units: those of a group side by side."""
        pairs = zip(arrays, self.dtypes, strict=False)  # zero points that are one number are none
        return [self._grouped(array.astype(dtype)) for array, dtype in pairs]

    def _grouped(self, array: Array) -> Array:
        whole = np.zeros((self.groups * GROUP, array.shape[1]), array.dtype)
        whole[: self.units] = array
        split = whole.reshape(self.groups, GROUP, -1)
        return np.ascontiguousarray(split.transpose(0, 2, 1))


def point_dtype(points: Array) -> str:
    """Choose the dtype that holds zero points: bytes where they are such integers."""
    fits = np.array_equal(points, np.clip(np.rint(points), 0, np.iinfo(np.uint8).max))
    return "uint8" if fits else "float32"


def one_point(points: list[Array], middle: float) -> float | None:
    """Return the zero point of all weights; None where they have several.

    Args:
        points: of blocks, in one array or in none.
        middle: what they are where none are stated.
    """
    if not points:
        return middle
    first = points[0].flat[0]
    return float(first) if (points[0] == first).all() else None
