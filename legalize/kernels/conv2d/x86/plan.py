"""The common part of the ways to compute a convolution on x86."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from tvm import tirx

from legalize.kernels.border import tell_border
from legalize.kernels.call import with_code
from legalize.kernels.conv2d.constants import deal, signed_kernel
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Tiling
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.epilogue.choose import choose_epilogue, fold, with_residual
from legalize.kernels.conv2d.x86.epilogue.residual import ResidualSum
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pixels import with_any_target
from legalize.kernels.conv2d.x86.tiling import lane_channels
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.x86 import Isa, Products


@dataclass(frozen=True)
class Layout:
    """Weights in the layout that a kernel reads.

    Attributes:
        weights: the weights in one row.
        lists: arrays that locate them.
        settings: arrays that come last.
        known: facts about the weights on which the function depends.
    """

    weights: Array
    lists: tuple[Array, ...] = ()
    settings: tuple[Array, ...] = ()
    known: Hashable = None


@dataclass(frozen=True)
class Packed:
    """A convolution's constants, and the facts on which its function depends.

    Attributes:
        epilogue: how accumulators become outputs.
        constants: weights in one row; bias int32 [vectors, lanes]; the lists of the layout; the
            kernel's zero point int32 [1], only if it is asymmetric and the weights are int8;
            the arrays of the epilogue; the settings of the layout.
        known: the facts about the layout.
    """

    epilogue: Epilogue
    constants: tuple[Array, ...]
    known: Hashable


@dataclass(frozen=True)
class Plan(ABC):
    """A convolution as one way computes it.

    Attributes:
        spec: the convolution, with the dtype of its staged data.
        products: the products of its kernel.
        tiling: the tiles of output pixels and channels.
        cost: in the units of tiling.py; it is comparable with other ways' on the same instruction
            set.
    """

    spec: ConvSpec
    products: Products
    tiling: Tiling
    cost: float

    def with_spec(self, spec: ConvSpec) -> Plan:
        """Return the plan of a convolution that differs only in numbers that the code reads."""
        return replace(self, spec=spec)

    @property
    def shares_sizes(self) -> bool:
        """Whether the code reads the convolution's sizes, so that it serves others, too."""
        return False

    @property
    def is_short(self) -> bool:
        """Whether the convolution is so short that it takes the code of others."""
        return False

    def cut(self, weights: Weights) -> Sequence[tuple[Plan, Weights]]:
        """Cut the convolution into parts that each write some of the output's channels."""
        return [(self, weights)]

    def ready(self, weights: Weights) -> Ready:
        """Lay out the constants of all parts."""
        parts = []
        for part, own in self.cut(weights):
            packed = part.pack(own)
            parts.append(Ready(part.spec, packed.constants, partial(part.function, packed)))
        return replace(parts[0], rest=tuple(parts[1:]))

    @property
    def factors(self) -> tuple[int, ...]:
        """Factors by which the epilogue's sums may be too large; the cheapest first, 1 last."""
        return (1,)

    @abstractmethod
    def lay_out(self, kernel: Array, lanes: Array) -> Layout:
        """Lay out the weights.

        Args:
            kernel: integers of shape [out_channels, KH, KW, staged_channels]: int8, or w − zw.
            lanes: from ``lane_channels``.
        """

    @abstractmethod
    def kernel(self, epilogue: Epilogue, known: Any) -> ConvKernel:
        """Make the writer of the function."""

    def pack(self, weights: Weights) -> Packed:
        """Fold zero points into the bias and lay out weights, bias and multipliers.

        The kernel multiplies raw uint8 data x with int8 weights w. The rest of
        Σ(x − zx)(w − zw) = Σxw − zx·Σw − zw·Σx + K·zx·zw is constant except for zw·Σx, which is
        computed only for an asymmetric kernel. Weights of int16 hold w − zw, so that only constants
        remain.
        """
        spec = self.spec
        kernel, zero_point = signed_kernel(weights)
        if not self.products.takes_raw_weights:
            kernel, zero_point = kernel - zero_point, 0
        folded_bias, scales = fold(spec, weights, kernel, zero_point)
        lanes = lane_channels(spec, self.products.isa, self.tiling)
        chosen = choose_epilogue(spec.output, scales, lanes, self.factors)
        # Channels that staging adds hold the zero points, so their products are zero.
        missing = spec.staged_channels - spec.in_channels
        if missing:
            kernel = np.pad(kernel, ((0, 0),) * 3 + ((0, missing),), constant_values=zero_point)
        layout = self.lay_out(kernel, lanes)
        # Products wrap, but the product is right if it fits 32 bits.
        bias = (folded_bias + chosen.offset) * np.int32(chosen.epilogue.factor)
        constants = [layout.weights, deal(bias, lanes), *layout.lists]
        if zero_point:
            constants.append(np.array([zero_point], np.int32))
        epilogue = with_residual(spec, chosen.epilogue)
        residual = self.residual_sum(epilogue)
        numbers = [] if residual is None else [residual.rows]
        if spec.fusion.is_shared:
            writer = self.kernel(epilogue, layout.known)
            numbers.append(np.array(writer.numbers_to_read, np.int32))
        constants += [*chosen.arrays, *numbers, *layout.settings]
        return Packed(epilogue, tuple(constants), layout.known)

    def residual_sum(self, epilogue: Epilogue) -> ResidualSum | None:
        """Return the sum with the residual's tensor, if there is one and it adds integers."""
        residual = self.spec.fusion.residual
        if residual is None or epilogue.float_sum is not None:
            return None
        return ResidualSum(self.spec.output, residual, self.products.isa, epilogue.zero_point_left)

    def function(self, packed: Packed) -> tirx.PrimFunc:
        """Build the function that computes the convolution with the constants."""
        # A function knows only whether there is a zero point.
        point = 1 if self.spec.staged_zero_point else self.spec.input_zero_point
        spec, epilogue = replace(self.spec, input_zero_point=point), packed.epilogue
        if (residual := self.residual_sum(epilogue)) is not None:
            # The function reads the numbers of the sum.
            alike = residual.alike
            fusion = replace(spec.fusion, residual=alike.residual)
            spec = replace(spec, output=alike.output, fusion=fusion)
            epilogue = replace(epilogue, zero_point_left=alike.zero_point)
        if spec.fusion.is_shared:
            spec = with_any_target(spec)
        function = _built(self.with_spec(spec), epilogue, packed.known)
        border = self.spec.fusion.border
        if spec.fusion.is_shared:
            # ``call_tir`` takes functions of one name for one, but ``edges_of`` reads the border
            # that a function notes. So without ``OneFunction`` each border has its own function.
            ends = () if border is None else (*border.widths, border.value)
            name = "_".join(map(str, (function.attrs["global_symbol"], *ends)))
            function = function.with_attr("global_symbol", name)
        return tell_border(function, border)


BUILT: dict[Hashable, tirx.PrimFunc] = {}
"""The functions of earlier calls, by the facts on which their code depends."""


def _built(plan: Plan, epilogue: Epilogue, known: Any) -> tirx.PrimFunc:
    writer = plan.kernel(epilogue, known)
    form = writer.form if plan.shares_sizes else (plan, epilogue, known)
    if form not in BUILT:
        function = writer.build()
        if plan.spec.fusion.is_shared:
            function = with_code(function)
        BUILT[form] = function
    return BUILT[form]


Way = Callable[[ConvSpec, Isa, Weights, float], "Plan | None"]
"""``plan(spec, isa, weights, most)``: None if the way cannot do it, or costs more than ``most``."""
