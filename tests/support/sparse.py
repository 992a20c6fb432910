"""Matrices that are stored sparsely."""

import numpy as np

from frontends.tflite.sparsity import Level, Sparsity


def by_rows(dense: np.ndarray) -> tuple[np.ndarray, Sparsity]:
    """Store a matrix by rows."""
    rows, columns = np.nonzero(dense)
    segments = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    levels = (Level(len(dense)), Level(0, segments, columns))
    return dense[rows, columns], Sparsity((0, 1), (), levels)


def by_blocks(dense: np.ndarray, size: int) -> tuple[np.ndarray, Sparsity]:
    """Store a matrix by blocks of so many columns."""
    blocks = dense.reshape(len(dense), -1, size)
    rows, places = np.nonzero(blocks.any(axis=2))
    segments = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    levels = (Level(len(dense)), Level(0, segments, places), Level(size))
    return blocks[rows, places].reshape(-1), Sparsity((0, 1, 2), (1,), levels)


def sparse_matrix(rng: np.random.Generator, shape: tuple[int, int], size: int = 1) -> np.ndarray:
    kept = np.repeat(rng.random((shape[0], shape[1] // size)) < 0.3, size, axis=1)
    return np.where(kept, rng.integers(1, 120, shape), 0).astype(np.int8)
