"""Sums of products of bytes by vpmaddubsw, with weights that are cut for it.

The number of further K-steps depends on the weights; it is estimated from some of their blocks.
"""

from dataclasses import dataclass

import numpy as np

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.pairs.kernel import PairsKernel
from legalize.kernels.conv2d.x86.pairs.pack import list_k_steps, paired_blocks
from legalize.kernels.conv2d.x86.pairs.weights import K_STEP_KINDS, ListedKSteps
from legalize.kernels.conv2d.x86.plan import Layout, Plan
from legalize.kernels.conv2d.x86.tiling import choose_tiling, lane_channels, units
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.x86 import Isa, PairProducts

LEAST_K_STEP = min(kind.cost for kind in K_STEP_KINDS)
"""The least cost of a K-step, in the units of tiling.py's K-steps."""

_BLOCKS = 4


@dataclass(frozen=True)
class PairsPlan(Plan):
    """A convolution by listed K-steps."""

    def lay_out(self, kernel: Array, lanes: Array) -> Layout:
        """Cut the weights into K-steps."""
        known, (weights, *lists) = list_k_steps(
            self.spec, self.products.isa, kernel, self.tiling, lanes
        )
        return Layout(weights, tuple(lists), known=known)

    def kernel(self, epilogue: Epilogue, known: ListedKSteps) -> PairsKernel:
        """Make the writer of a function of listed K-steps."""
        return PairsKernel(self, epilogue, known)


def plan(spec: ConvSpec, isa: Isa, weights: Weights, most: float) -> PairsPlan | None:
    """Plan a convolution, if no instruction multiplies and adds bytes."""
    if isa.has_byte_products:
        return None
    least = units(spec, PairProducts(isa))
    if least * LEAST_K_STEP > most:
        return None
    planned = pairs_plan(spec, isa)
    cost = least * _step_cost(planned, weights.centred)
    return None if cost > most else PairsPlan(spec, planned.products, planned.tiling, cost)


def pairs_plan(spec: ConvSpec, isa: Isa) -> PairsPlan:
    """Plan a convolution, whether or not it pays, as if weights needed no further K-steps."""
    products = PairProducts(isa)
    return PairsPlan(spec, products, choose_tiling(spec, products), units(spec, products))


def _step_cost(planned: PairsPlan, kernel: Array) -> float:
    """Estimate the cost of the listed K-steps of some blocks, for each K-step of the sum."""
    spec, isa, tiling = planned.spec, planned.products.isa, planned.tiling
    section = max(tiling, key=lambda section: section.blocks * section.nr)
    missing = spec.staged_channels - spec.in_channels
    padded = np.pad(kernel, ((0, 0),) * 3 + ((0, missing),))
    lanes = lane_channels(spec, isa, tiling)
    blocks = paired_blocks(spec, isa, padded, section, lanes, _BLOCKS)
    return blocks.cost / (spec.runs * spec.k_steps_per_run)
