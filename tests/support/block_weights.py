"""Layers of weights of a few bits, whose sums are exact in any order."""

from typing import Any

import numpy as np

POINTS = ("none", "one", "bytes", "floats")


Shape = tuple[int, int, int, int, int]
"""Rows, depth, units, bits, and the size of a block."""


def exact_layer(shape: Shape, points: str) -> list[Any]:
    """Return data, weights, scales and zero points: few bits each, so that nothing is rounded."""
    rows, depth, units, bits, size = shape
    rng = np.random.default_rng(rows + depth + bits)
    blocks, most = -(-depth // size), 1 << bits
    zeros: dict[str, np.ndarray | None] = {
        "none": None,
        "one": np.full((units, blocks), 3, np.float32),
        "bytes": rng.integers(0, most, (units, blocks)).astype(np.float32),
        "floats": (rng.integers(0, 2 * most, (units, blocks)) / 2).astype(np.float32),
    }
    data = rng.integers(-8, 9, (rows, depth))
    data[:, ::size] = 127  # so that a block's integers are its numbers
    return [
        data.astype(np.float32),
        rng.integers(0, 256, (units, blocks * size * bits // 8)).astype(np.uint8),
        np.exp2(rng.integers(-3, 1, (units, blocks))).astype(np.float32),
        zeros[points],
    ]
