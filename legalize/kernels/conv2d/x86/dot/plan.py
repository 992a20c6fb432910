"""Sums of products of data and weights, by the products of an instruction set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import Taps, ranges_fit, taps_of
from legalize.kernels.conv2d.tiling import tiles_of
from legalize.kernels.conv2d.x86.dot.kernel import DotKernel, is_written_out
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.k_steps import k_step_weights
from legalize.kernels.conv2d.x86.plan import Layout, Plan
from legalize.kernels.conv2d.x86.sizes import has_inverses
from legalize.kernels.conv2d.x86.tiling import (
    PREFERENCE,
    by_blocks,
    choose_tiling,
    is_short,
    microseconds,
    shares_columns,
    units,
)
from legalize.kernels.ir.tasks import LEAST_TASK
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.x86 import ByteProducts, Isa, Products, WidenedProducts, WordProducts
from legalize.kernels.kernel import Slice

# The weight of a unit relative to a unit of pairs, whose loads are hidden behind fewer products.
# Units of bytes that each tile widens count more than they take.
_UNIT: dict[type[Products], float] = {
    ByteProducts: 1.0,
    WordProducts: 0.92,
    WidenedProducts: 0.79,
}
# The cost of each value that staging writes as a word, in place of a byte or of no copy.
_WIDEN = 0.2
_COPY = 0.5
_WORTH_IT = 0.89

# The fewest microseconds of a convolution that is cut: calling and starting threads twice takes one
# or two more.
_LEAST_CUT = 10 * LEAST_TASK


@dataclass(frozen=True)
class DotPlan(Plan):
    """A convolution by the products of its instruction set.

    Attributes:
        taps: the taps that tiles multiply; None for all.
    """

    taps: Taps | None = None

    @property
    def shares_sizes(self) -> bool:
        """Whether the code reads the convolution's sizes."""
        spec, isa = self.spec, self.products.isa
        if (
            not (spec.fusion.is_shared and isa.has_byte_products)
            or not has_inverses(spec)
            or is_written_out(spec)
        ):
            return False
        # Sums of pixels take memory of a known size, and shared columns take all registers.
        sums_pixels = spec.has_asymmetric_kernel and self.products.takes_raw_weights
        return not sums_pixels and not any(
            shares_columns(spec, self.products, section.nr, section.mr, self.taps)
            for section in self.tiling
        )

    @property
    def is_short(self) -> bool:
        """Whether the convolution is short; see ``tiling.is_short``."""
        return self.shares_sizes and is_short(self.spec, self.products)

    def lay_out(self, kernel: Array, lanes: Array) -> Layout:
        """Order the weights by block of channels, run, K-step, vector, part, lane and value.

        The parts are even and odd bytes of widened data; bytes and words have one part.
        """
        spec, products = self.spec, self.products
        # Weights that are read once stay bytes: loading them takes longer than widening.
        is_read_once = all(tiles_of(spec, section) == 1 for section in self.tiling)
        fits = kernel.min() >= -128 and kernel.max() <= 127
        dtype = "int8" if is_read_once and fits else products.weight_dtype
        k_steps = k_step_weights(spec, kernel.astype(dtype))
        k_steps = k_steps.reshape(*k_steps.shape[:-1], -1, products.parts).swapaxes(-1, -2)
        # [blocks, nr, lanes, runs, K-steps, parts]
        packed = by_blocks(self.tiling, k_steps, lanes, (0, 3, 4, 1, 5, 2))
        return Layout(packed, settings=self._left_out(kernel, lanes), known=dtype)

    def _left_out(self, kernel: Array, lanes: Array) -> tuple[Array, ...]:
        """Return each tile's range of taps, and the sums of those left out, unless all are zero."""
        if self.taps is None:
            return ()
        ranges = self.taps.windows_of(self.tiling)
        if self.spec.staged_zero_point == 0:
            return (ranges,)
        sums = [deal(values, lanes) for values in self.taps.sums(kernel)]
        return ranges, np.stack(sums)

    def cut(self, weights: Weights) -> Sequence[tuple[Plan, Weights]]:
        """Cut a convolution that shares its code into a part for each section.

        This is done only if a section has the most common tile: then other layers have its code.
        Otherwise a convolution that takes little time stays whole, unless it is short.
        """
        spec, lanes = self.spec, self.products.lanes
        is_common = any((each.nr, each.mr) in PREFERENCE for each in self.tiling)
        is_long = microseconds(spec, self.products, self.tiling, self.taps) >= _LEAST_CUT
        pays = self.is_short or (self.shares_sizes and is_common and is_long)
        if not pays or len(self.tiling) == 1:
            return [(self, weights)]
        found = []
        for section in self.tiling:
            first = section.first_vector * lanes
            stop = min(first + section.blocks * section.nr * lanes, spec.out_channels)
            part = Slice(spec.target.whole, spec.target.first + first)
            own = replace(spec, out_channels=stop - first, fusion=replace(spec.fusion, part=part))
            plan = replace(self.with_spec(own), tiling=(replace(section, first_vector=0),))
            found.append((plan, weights.of(slice(first, stop))))
        return found

    def with_spec(self, spec: ConvSpec) -> DotPlan:
        """Return the plan of a convolution that differs only in numbers that the code reads."""
        taps = None if self.taps is None else replace(self.taps, spec=spec)
        return replace(self, spec=spec, taps=taps)

    def kernel(self, epilogue: Epilogue, known: str) -> DotKernel:
        """Make the writer of a function of weights of a dtype."""
        return DotKernel(self, epilogue, known)


def plan(spec: ConvSpec, isa: Isa, _weights: Weights, _most: float) -> DotPlan:
    """Plan a convolution; staging turns bytes of data into words if that pays."""
    return dot_plan(replace(spec, staged_dtype="int16") if prefers_words(spec, isa) else spec, isa)


def dot_plan(spec: ConvSpec, isa: Isa) -> DotPlan:
    """Plan a convolution of data staged as in the spec."""
    products = products_of(spec, isa)
    taps = cheapest_taps(spec, products)
    cost = _UNIT[type(products)] * units(spec, products, taps)
    plan = DotPlan(spec, products, choose_tiling(spec, products, taps), cost, taps)
    is_window = spec.runs > 1 and spec.staged_zero_point == 0 and ranges_fit(spec)
    if taps is None and is_window and plan.shares_sizes:
        # Tiles that leave out nothing take the code of those that leave out rows.
        return replace(plan, taps=Taps(spec, down=False))
    return plan


def cheapest_taps(spec: ConvSpec, products: Products) -> Taps | None:
    """Choose the taps that tiles multiply."""
    if is_written_out(spec):
        return None
    ways = [None, *taps_of(spec)]
    return min(ways, key=lambda taps: units(spec, products, taps))


def products_of(spec: ConvSpec, isa: Isa) -> Products:
    """Choose the products for data staged as in the spec."""
    if isa.has_byte_products:
        return ByteProducts(isa)
    return WordProducts(isa) if spec.staged_dtype == "int16" else WidenedProducts(isa)


def prefers_words(spec: ConvSpec, isa: Isa) -> bool:
    """Tell whether widening data to int16 once, in staging, is faster than in each tile.

    Every block of channels and every row of the kernel reads the data again.
    """
    if isa.has_byte_products:
        return False
    wide = replace(spec, staged_dtype="int16")
    batch, height, width, channels = wide.staged_shape
    staging = _WIDEN if spec.needs_staging else _COPY
    words = units(wide, WordProducts(isa)) + staging * batch * height * width * channels
    return words < _WORTH_IT * units(spec, WidenedProducts(isa))
