"""Plans of convolutions and dense layers with Helium."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tvm import tirx

from legalize.kernels.conv2d.mcu.epilogue import Epilogue, epilogue_of, folded_bias
from legalize.kernels.conv2d.mcu.helium.epilogue import constants
from legalize.kernels.conv2d.mcu.helium.kernel import conv2d, packed_rows
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import UNFUSED, ConvSpec
from legalize.kernels.ir.vectors import Array
from legalize.kernels.rescale import USUAL


@dataclass(frozen=True, eq=False)
class HeliumPlan:
    """See ``conv2d.plan.Plan``.

    Attributes:
        spec: the convolution.
        epilogue: turns the sums into outputs.
    """

    spec: ConvSpec
    epilogue: Epilogue
    _weights: Weights

    @cached_property
    def constants(self) -> tuple[Array, ...]:
        """The arrays, in the order of the function's arguments."""
        rows = self._weights.kernel.reshape(self.spec.out_channels, -1)
        return (packed_rows(self.spec, rows), *constants(self.epilogue))

    def pack(self, weights: Weights) -> HeliumPlan:
        """Return this: the epilogue was proven for its weights."""
        assert weights is self._weights
        return self

    def function(self, _packed: HeliumPlan) -> tirx.PrimFunc:
        """Build the function: see ``conv2d``."""
        return conv2d(self.spec, self.epilogue)


def plan_helium(spec: ConvSpec, weights: Weights) -> HeliumPlan | None:
    """Plan a convolution of int8, if its rescaling has a form of 32 bits."""
    rows = weights.kernel.reshape(spec.out_channels, -1)
    epilogue = helium_epilogue(spec, weights, rows)
    return None if epilogue is None else HeliumPlan(spec, epilogue, weights)


def helium_epilogue(
    spec: ConvSpec, weights: Weights, rows: Array, usual: int = USUAL
) -> Epilogue | None:
    """Return the epilogue, if Helium's kernels have the arithmetic.

    Args:
        spec: the convolution.
        weights: its weights.
        rows: centred weights of each output channel.
        usual: see ``prove``.
    """
    if (spec.in_dtype, spec.kernel_dtype) != ("int8", "int8"):
        return None
    if spec.has_asymmetric_kernel or spec.fusion != UNFUSED:
        return None
    bias = folded_bias(rows, spec.input_zero_point, weights.bias)
    epilogue = epilogue_of(spec.output, weights, rows, bias, spec.in_dtype, usual)
    if epilogue is None or (epilogue.form is not None and epilogue.form.is_wide):
        return None
    return epilogue
