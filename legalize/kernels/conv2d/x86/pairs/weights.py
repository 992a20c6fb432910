"""Weights cut so that vpmaddubsw, which adds two products in 16 bits, never saturates.

It multiplies unsigned data x with signed weights w, and x·w + x'·w' fits 16 bits for all data if
|w + w'| ≤ 128. Most trained weights satisfy this, as large ones are rare: a K-step of four bytes
and 16 channels does so in 99 of 100 cases with one scale for a tensor, and in half of them with one
for each channel. Two means serve the other K-steps:

* Any bytes within a window of 16 may be paired, as vpshufb takes a K-step's four bytes from there.
* The excess over 16 bits becomes weights of another K-step, which reads the same bytes.

So every block of channels has a list of K-steps: the offset of the bytes, their order, and the
weights. A product takes 3/4 of the instructions that it takes with data of 16 bits, needs no copy
of such data, and half as many bytes of weights. It takes fewer if two K-steps are added first (see
fused_k_steps.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from legalize.kernels.conv2d.x86.pairs.fused_k_steps import MOST, match_k_steps
from legalize.kernels.ir.vectors import DWORD, Array

WINDOW = 4
"""Consecutive K-steps whose bytes may be exchanged."""

_HALF = WINDOW * DWORD // 2
# If fewer K-steps than this share saturate, further K-steps are cheaper than shuffles.
_WORTH_ORDERS = 0.08
# The bit, or bits, of a byte's index in its window that halve the bytes before they are paired. The
# first three split by K-step: a half whose bytes fit keeps them, and its K-steps stay plain.
_SPLITS = (8, 4, 12, 1, 2, 9, 5, 3)


@dataclass(frozen=True)
class KStepKind:
    """A kind of K-steps; one loop takes all K-steps of a kind.

    Attributes:
        at_once: number of K-steps that are added in 16 bits.
        is_ordered: whether they take four of 16 bytes in a listed order.
        cost: the cost of a K-step; a single K-step with its bytes in order costs 1.
    """

    at_once: int
    is_ordered: bool
    cost: float


# The costs are measured on Zen 3, with tiles of five pixels and two vectors.
K_STEP_KINDS = (
    KStepKind(2, False, 0.84),
    KStepKind(1, False, 1.0),
    KStepKind(1, True, 1.06),
)
_FUSED, _PLAIN, _ORDERED = range(len(K_STEP_KINDS))
# The cost of a loop beside its K-steps.
_LOOP = 2.5
_TRIED = 4


@dataclass(frozen=True)
class ListedKSteps:
    """The facts that a kernel must know about the lists of K-steps that it reads.

    Attributes:
        count: K-steps of the block with the most.
        kinds: for each of ``K_STEP_KINDS`` whether any block has such K-steps.
    """

    count: int
    kinds: tuple[bool, ...]

    @property
    def has_orders(self) -> bool:
        """Whether any K-steps take their bytes in a listed order."""
        listed = zip(K_STEP_KINDS, self.kinds, strict=True)
        return any(kind.is_ordered and is_listed for kind, is_listed in listed)


@dataclass(frozen=True)
class PairedBlocks:
    """The K-steps of neighbouring blocks, those of the first kind first.

    Attributes:
        k_steps: int64 [blocks, K-steps], the K-step of the sum, or the first of a window; 0 after a
            block's last one.
        orders: uint8 [blocks, K-steps, 4], the indices of its bytes, counted from there.
        weights: int8 [blocks, channels, K-steps, 4], in this order; those of the same bytes add up
            to the original weights.
        counts: int64 [blocks, kinds], the number of a block's K-steps of each of ``K_STEP_KINDS``.
    """

    k_steps: Array
    orders: Array
    weights: Array
    counts: Array

    @property
    def cost(self) -> float:
        """The cost of a block, in single K-steps with their bytes in order."""
        costs = np.array([kind.cost for kind in K_STEP_KINDS])
        return float((self.counts @ costs).mean())


def pair_weights(weights: Array, windows: Array) -> PairedBlocks:
    """Cut the weights of blocks, all of one width, into K-steps that do not saturate.

    Args:
        weights: integers of -255 to 255, [blocks, channels, K-steps, 4].
        windows: K-steps that are consecutive in the data, [windows, 4].
    """
    rest = np.ascontiguousarray(weights.transpose(0, 2, 1, 3), np.int16)
    blocks, count, channels, _ = rest.shape
    k_step = np.tile(np.arange(count), (blocks, 1))
    orders = np.tile(np.arange(DWORD), (blocks, count, 1))
    saturates = _saturates(rest)
    if saturates.mean() >= _WORTH_ORDERS:
        _reorder(rest, k_step, orders, saturates, windows)
    # The K-steps of all blocks form one row.
    rest = rest.reshape(-1, channels, DWORD)
    block = np.repeat(np.arange(blocks), count)
    k_step, orders = k_step.reshape(-1), orders.reshape(-1, DWORD)
    found: list[tuple[Array, Array, Array, Array]] = []
    while len(rest):
        part = _largest(rest)
        found.append((block, k_step, orders, part))
        rest = rest - part
        left = rest.any(axis=(1, 2))
        rest, block, k_step, orders = rest[left], block[left], k_step[left], orders[left]
    rows = _Rows(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    base = np.full(count, -1)
    base[windows] = windows[:, :1]
    return _listed(blocks, rows, *_choose_kinds(blocks, rows, base))


@dataclass
class _Rows:
    """K-steps of all blocks, in any order: each has its block, and the data of ``PairedBlocks``."""

    block: Array
    k_step: Array
    orders: Array
    weights: Array

    def append_empty(self, like: Array) -> None:
        """Append K-steps with the positions of given rows, without weights."""
        self.block = np.concatenate([self.block, self.block[like]])
        self.k_step = np.concatenate([self.k_step, self.k_step[like]])
        self.orders = np.concatenate([self.orders, self.orders[like]])
        self.weights = np.concatenate([self.weights, np.zeros_like(self.weights[like])])


def _saturates(weights: Array) -> Array:
    """Tell whether K-steps have too large a pair, over the last axes of channels and bytes."""
    return np.asarray((abs(weights[..., 0::2] + weights[..., 1::2]) > MOST).any(axis=(-2, -1)))


def _reorder(
    weights: Array, k_step: Array, orders: Array, saturates: Array, windows: Array
) -> None:
    """Pair bytes of the windows in which a K-step saturates, as well as possible, in place."""
    block, window = np.nonzero(saturates[:, windows].any(axis=2))
    rows = windows[window]
    # [windows, channels, 16]
    own = weights[block[:, None], rows].transpose(0, 2, 1, 3)
    own = own.reshape(*own.shape[:2], 2 * _HALF)
    best = np.tile(np.arange(2 * _HALF), (len(own), 1))
    most = (abs(own[..., 0::2] + own[..., 1::2]) <= MOST).all(axis=1).sum(axis=1)
    left = np.arange(len(own))
    for split in _SPLITS:
        order, count = _paired(own[left], split)
        is_better = count > most[left]
        best[left[is_better]] = order[is_better]
        most[left] = np.maximum(most[left], count)
        left = left[most[left] < _HALF]
    changed = (best != np.arange(2 * _HALF)).any(axis=1)
    order = best[changed]
    taken = np.take_along_axis(own[changed], order[:, None], axis=2)
    taken = taken.reshape(*taken.shape[:2], WINDOW, DWORD).transpose(0, 2, 1, 3)
    index = block[changed, None], rows[changed]
    weights[index] = taken
    k_step[index] = rows[changed, :1]
    orders[index] = order.reshape(-1, WINDOW, DWORD)


def _paired(weights: Array, split: int) -> tuple[Array, Array]:
    """Return the order of 16 bytes with the best pairs within halves; and how many pairs fit."""
    places = np.arange(2 * _HALF)
    is_second = np.array([(place & split).bit_count() % 2 for place in places], bool)
    halves = [places[~is_second], places[is_second]]
    found = [_match(weights[..., half]) for half in halves]
    fits = np.concatenate([good for _, good in found], axis=1)
    pairs = [half[_matchings()[number]] for half, (number, _) in zip(halves, found, strict=True)]
    # Pairs that saturate come last, so that they are in few K-steps.
    last = np.argsort(~fits, axis=1, kind="stable")
    order = np.take_along_axis(np.concatenate(pairs, axis=1), last[..., None], axis=1)
    return order.reshape(-1, 2 * _HALF), fits.sum(axis=1)


def _match(weights: Array) -> tuple[Array, Array]:
    """Return the matching of eight bytes with the most pairs that fit, and which of them fit."""
    fits = np.empty((len(weights), _HALF, _HALF), bool)
    for i in range(_HALF):
        sums = abs(weights[..., i : i + 1] + weights[..., i + 1 :])
        fits[:, i, i + 1 :] = (sums <= MOST).all(axis=1)
    pairs = _matchings()
    good: Array = fits[:, pairs[..., 0], pairs[..., 1]]
    number = good.sum(axis=2).argmax(axis=1)
    return number, good[np.arange(len(good)), number]


@cache
def _matchings() -> Array:
    """Yield the 105 ways to pair eight things: [ways, 4, 2]."""

    def ways(things: list[int]) -> Iterator[list[tuple[int, int]]]:
        if not things:
            yield []
            return
        first, *others = things
        for other in others:
            for rest in ways([thing for thing in others if thing != other]):
                yield [(first, other), *rest]

    return np.array(list(ways(list(range(_HALF)))))


def _largest(weights: Array) -> Array:
    """Find the closest int8 weights whose pairs, the last axis two by two, do not saturate."""
    first, second = (np.clip(weights[..., i::2], -128, 127) for i in (0, 1))
    second = np.clip(second, -MOST - first, MOST - first)
    return np.stack([first, second], axis=-1).reshape(weights.shape)


def _choose_kinds(blocks: int, rows: _Rows, base: Array) -> tuple[Array, Array]:
    """Choose each row's kind, and its partner; each row without one is its own.

    Args:
        blocks: number of blocks.
        rows: the K-steps. A K-step whose order is that of a plain K-step becomes one. The reverse
            happens if a loop over few of them would cost more than it saves.
        base: for each K-step of the data the first one of its window, or -1.
    """
    first = rows.orders[:, 0].astype(np.int64) // DWORD
    is_plain = (rows.orders == DWORD * first[:, None] + np.arange(DWORD)).all(axis=1)
    rows.k_step[is_plain] += first[is_plain]
    rows.orders[is_plain] = np.arange(DWORD)
    kind = np.where(is_plain, _PLAIN, _ORDERED)
    partner = np.arange(len(kind))
    # If few K-steps of the first blocks have partners, the search stops there.
    for last in sorted({min(_TRIED, blocks), blocks}):
        chosen = np.flatnonzero(is_plain & (rows.block < last))
        found = chosen[match_k_steps(rows.weights[chosen], rows.block[chosen])]
        is_fused = found != chosen
        if not _is_worth_a_loop(last, is_fused, _FUSED, _PLAIN):
            break
    else:
        partner[chosen] = found
        kind[chosen[is_fused]] = _FUSED
    may_turn = (kind == _PLAIN) & (base[rows.k_step] >= 0)
    if (kind == _ORDERED).any() and not _is_worth_a_loop(blocks, may_turn, _PLAIN, _ORDERED):
        start = base[rows.k_step[may_turn]]
        rows.orders[may_turn] += DWORD * (rows.k_step[may_turn] - start)[:, None]
        rows.k_step[may_turn] = start
        kind[may_turn] = _ORDERED
    alone = np.flatnonzero(kind == _PLAIN)
    more = 2 * K_STEP_KINDS[_FUSED].cost - K_STEP_KINDS[_PLAIN].cost
    if (kind == _FUSED).any() and more * len(alone) < _LOOP * blocks:
        partner[alone] = len(kind) + np.arange(len(alone))
        partner = np.concatenate([partner, alone])
        kind[alone] = _FUSED
        kind = np.concatenate([kind, kind[alone]])
        rows.append_empty(alone)
    return kind, partner


def _is_worth_a_loop(blocks: int, rows: Array, kind: int, other: int) -> bool:
    """Tell whether a loop of its own saves more than it costs, for rows of a kind."""
    saved = K_STEP_KINDS[other].cost - K_STEP_KINDS[kind].cost
    return bool(saved * np.count_nonzero(rows) >= _LOOP * blocks)


def _listed(blocks: int, rows: _Rows, kind: Array, partner: Array) -> PairedBlocks:
    """Order the K-steps of each block by kind; fill every block up to the longest one's number."""
    block, number = rows.block, np.arange(len(kind))
    counts = np.zeros((blocks, len(K_STEP_KINDS)), np.int64)
    np.add.at(counts, (block, kind), 1)
    # Partners are consecutive.
    by_block = np.lexsort((np.minimum(number, partner), kind, block))
    of_block = counts.sum(axis=1)
    place = np.empty_like(block)
    place[by_block] = number - np.repeat(np.cumsum(of_block) - of_block, of_block)
    most, channels = int(of_block.max()), rows.weights.shape[1]
    k_steps = np.zeros((blocks, most), np.int64)
    orders = np.zeros((blocks, most, DWORD), np.uint8)
    weights = np.zeros((blocks, most, channels, DWORD), np.int8)
    k_steps[block, place] = rows.k_step
    orders[block, place] = rows.orders
    weights[block, place] = rows.weights
    return PairedBlocks(k_steps, orders, weights.transpose(0, 2, 1, 3), counts)
