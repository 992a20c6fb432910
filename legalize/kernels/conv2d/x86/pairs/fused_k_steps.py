"""The K-steps whose sums of two products may be added in 16 bits before they are widened.

vpmaddubsw leaves a sum of two products with uint8 data in each int16. The sums of two K-steps add
up exactly in 16 bits for all data if, among the four weights, neither the positive ones nor the
negative ones add up to more than 128. One vpmaddwd then widens both: five instructions for two
K-steps, three of them multiplications, instead of six and four.
"""

import numpy as np

from legalize.kernels.ir.vectors import Array

MOST = 128
"""The limit of weights that are added in 16 bits: 255·128 = 32640 fits, 255·129 does not."""

# K-steps of a shard, in which partners are looked for: larger shards find hardly more.
_AMONG = 64
# Shards that are compared at a time, so that their table of pairs stays in the cache.
_AT_ONCE = 32


def match_k_steps(weights: Array, block: Array) -> Array:
    """Find K-steps to add in 16 bits, two by two.

    Args:
        weights: int8 [K-steps, channels, 4]; no K-step alone leaves 16 bits.
        block: int64 [K-steps]; partners are of one block.

    Returns:
        int64 [K-steps]: the number of a K-step's partner; its own number if it has none.
    """
    partner = np.arange(len(weights))
    if not len(weights):
        return partner
    sums = _sums(weights)
    shards = _shards(sums, block)
    # An empty place in a shard fits nothing.
    sums = np.concatenate([sums, np.full((1, sums.shape[1]), 255, np.uint8)])
    for first in range(0, len(shards), _AT_ONCE):
        rows = shards[first : first + _AT_ONCE]
        for one, other in _match(_fits(sums[rows])):
            partner[rows[one]], partner[rows[other]] = rows[other], rows[one]
    return partner


def _sums(weights: Array) -> Array:
    """Bound each int16 of a K-step from above and below, divided by 255: [K-steps, values]."""
    wide = weights.astype(np.int16)
    pairs = np.concatenate([np.maximum(wide, 0), np.maximum(-wide, 0)], axis=1)
    return (pairs[..., 0::2] + pairs[..., 1::2]).reshape(len(weights), -1).astype(np.uint8)


def _shards(sums: Array, block: Array) -> Array:
    """Distribute each block's K-steps to shards, large and small ones evenly: [shards, K-steps].

    The number after the last means no K-step.
    """
    size = np.square(sums, dtype=np.int64).sum(axis=1)
    order = np.lexsort((size, block))
    counts = np.bincount(block)
    start = np.cumsum(counts) - counts
    rank = np.arange(len(block)) - start[block[order]]
    shards = -(-counts // _AMONG)
    of_block = shards[block[order]]
    shard = (np.cumsum(shards) - shards)[block[order]] + rank % of_block
    place = rank // of_block
    table = np.full((int(shards.sum()), int(place.max()) + 1), len(block))
    table[shard, place] = order
    return table


def _fits(sums: Array) -> Array:
    """Find the K-steps of each shard that fit each other: bool [shards, K-steps, K-steps]."""
    values = np.ascontiguousarray(sums.transpose(2, 0, 1))
    # One more than the room that is left, so that nothing is below it if there is no room.
    above = np.where(values > MOST, 0, MOST + 1 - values).astype(np.uint8)
    fits = np.empty((*sums.shape[:2], sums.shape[1]), bool)
    fits[:] = ~np.eye(sums.shape[1], dtype=bool)
    one = np.empty_like(fits)
    for value, limit in zip(values, above, strict=True):
        np.less(value[:, :, None], limit[:, None, :], out=one)
        fits &= one
    return fits


def _match(fits: Array) -> list[tuple[tuple[Array, Array], tuple[Array, Array]]]:
    """Repeatedly pair the K-step that fits the fewest others; its partner fits the fewest of these.

    Args:
        fits: from ``_fits``; it is overwritten.

    Returns:
        For each round the indices of K-steps and of their partners, as (shards, numbers).
    """
    degree = fits.sum(axis=2, dtype=np.int16)
    none = fits.shape[1] + 1
    found = []
    shard = np.flatnonzero(degree.any(axis=1))
    while len(shard):
        one = np.where(degree[shard] > 0, degree[shard], none).argmin(axis=1)
        other = np.where(fits[shard, one], degree[shard], none).argmin(axis=1)
        found.append(((shard, one), (shard, other)))
        degree[shard] -= fits[shard, one].astype(np.int16) + fits[shard, other]
        for taken in (one, other):
            fits[shard, taken] = False
            fits[shard, :, taken] = False
            degree[shard, taken] = 0
        shard = shard[degree[shard].any(axis=1)]
    return found
