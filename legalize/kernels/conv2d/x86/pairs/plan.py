"""Sums of products of bytes by vpmaddubsw, with weights that are cut for it.

The number of further K-steps depends on the weights; it is estimated from some of their blocks.
"""

from dataclasses import dataclass, replace

import numpy as np

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.k_steps import k_step_offsets, k_step_weights, k_step_windows
from legalize.kernels.conv2d.x86.pairs.kernel import PairsKernel
from legalize.kernels.conv2d.x86.pairs.weights import (
    K_STEP_KINDS,
    WINDOW,
    ListedKSteps,
    PairedBlocks,
    pair_weights,
)
from legalize.kernels.conv2d.x86.plan import Layout, Plan
from legalize.kernels.conv2d.x86.sizes import has_inverses
from legalize.kernels.conv2d.x86.tiling import choose_tiling, lane_channels, units
from legalize.kernels.ir.vectors import DWORD, Array
from legalize.kernels.isa.x86 import Isa, PairProducts

LEAST_K_STEP = min(kind.cost for kind in K_STEP_KINDS)
"""The least cost of a K-step, in the units of tiling.py's K-steps."""

_BLOCKS = 4


@dataclass(frozen=True)
class PairsPlan(Plan):
    """A convolution by listed K-steps."""

    @property
    def shares_sizes(self) -> bool:
        """Whether the code reads the convolution's sizes."""
        return self.spec.fusion.is_shared and has_inverses(self.spec)

    def lay_out(self, kernel: Array, lanes: Array) -> Layout:
        """Cut the weights into K-steps, and list the bytes that they multiply.

        Returns:
            The weights, int8, by block, K-step, vector, lane and byte. The lists are the offsets of
            K-steps, int32 [blocks · K-steps], from a pixel's first K-step; for every kind the first
            K-step and the iterations of its loop, int32 [blocks, kinds, 2]; and, if some K-steps
            are ordered, the orders of all K-steps' bytes, uint8 [blocks · K-steps, 4].
        """
        blocks = [self._paired(kernel, section, lanes) for section in self.tiling]
        count = max(part.k_steps.shape[1] for part in blocks)
        packed, numbers, orders = [], [], []
        for section, part in zip(self.tiling, blocks, strict=True):
            rest = ((0, 0), (0, count - part.k_steps.shape[1]))
            weights = np.pad(part.weights, ((0, 0), *rest, (0, 0)))
            weights = weights.reshape(section.blocks, section.nr, -1, count, DWORD)
            packed.append(weights.transpose(0, 3, 1, 2, 4).reshape(-1))
            numbers.append(np.pad(part.k_steps, rest).reshape(-1))
            orders.append(np.pad(part.orders, (*rest, (0, 0))).reshape(-1, DWORD))
        places = k_step_offsets(self.spec)[np.concatenate(numbers)].astype(np.int32)
        counts = np.concatenate([part.counts for part in blocks])
        runs = counts // np.array([kind.at_once for kind in K_STEP_KINDS])
        loops = np.stack([np.cumsum(counts, axis=1) - counts, runs], axis=2).astype(np.int32)
        listed = ListedKSteps(count, tuple(bool(part.any()) for part in counts.T))
        lists = (places, loops, *([np.concatenate(orders)] if listed.has_orders else []))
        return Layout(np.concatenate(packed), lists, known=listed)

    def kernel(self, epilogue: Epilogue, known: ListedKSteps) -> PairsKernel:
        """Make the writer of a function of listed K-steps."""
        return PairsKernel(self, epilogue, known)

    def step_cost(self, kernel: Array) -> float:
        """Estimate the cost of the listed K-steps of some blocks, for each K-step of the sum."""
        spec = self.spec
        section = max(self.tiling, key=lambda section: section.blocks * section.nr)
        missing = spec.staged_channels - spec.in_channels
        padded = np.pad(kernel, ((0, 0),) * 3 + ((0, missing),))
        lanes = lane_channels(spec, self.products.isa, self.tiling)
        blocks = self._paired(padded, section, lanes, _BLOCKS)
        return blocks.cost / (spec.runs * spec.k_steps_per_run)

    def _paired(
        self, kernel: Array, section: Section, lanes: Array, most: int | None = None
    ) -> PairedBlocks:
        """Cut a section's blocks; if given, at most ``most`` evenly chosen blocks."""
        count = section.blocks if most is None else min(section.blocks, most)
        chosen = np.linspace(0, section.blocks - 1, count).astype(int) * section.nr
        vectors = section.first_vector + chosen[:, None] + np.arange(section.nr)
        channels = lanes[vectors].reshape(-1)
        # -1, an empty lane, selects the zeros.
        used, place = np.unique(channels, return_inverse=True)
        k_steps = k_step_weights(self.spec, kernel[used[used >= 0]])
        k_steps = k_steps[place - int(used[0] < 0)]
        k_steps = k_steps.reshape(count, section.nr * self.products.lanes, -1, DWORD)
        return pair_weights(k_steps, k_step_windows(self.spec, WINDOW))


def plan(spec: ConvSpec, isa: Isa, weights: Weights, most: float) -> PairsPlan | None:
    """Plan a convolution, if no instruction multiplies and adds bytes."""
    if isa.has_byte_products:
        return None
    least = units(spec, PairProducts(isa))
    if least * LEAST_K_STEP > most:
        return None
    planned = pairs_plan(spec, isa)
    cost = least * planned.step_cost(weights.centred)
    return None if cost > most else replace(planned, cost=cost)


def pairs_plan(spec: ConvSpec, isa: Isa) -> PairsPlan:
    """Plan a convolution, whether or not it pays, as if weights needed no further K-steps."""
    products = PairProducts(isa)
    return PairsPlan(spec, products, choose_tiling(spec, products), units(spec, products))
