"""Plans of convolutions and dense layers with Helium."""

from functools import partial

from legalize.kernels.conv2d.mcu.epilogue import Epilogue, epilogue_of
from legalize.kernels.conv2d.mcu.helium.kernel import conv2d, packed_rows
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.helium import FOUR
from legalize.kernels.rescale import USUAL


def plan_helium(spec: ConvSpec, weights: Weights) -> Ready | None:
    """Plan a convolution of int8, if its rescaling has a form of 32 bits."""
    rows = weights.kernel.reshape(spec.out_channels, -1)
    epilogue = helium_epilogue(spec, weights, rows)
    if epilogue is None:
        return None
    arrays = packed_rows(spec, rows), *epilogue.constants(FOUR)
    return Ready(spec, arrays, partial(conv2d, spec, epilogue))


def helium_epilogue(
    spec: ConvSpec, weights: Weights, rows: Array, usual: int = USUAL
) -> Epilogue | None:
    """Return the epilogue, if Helium's kernels have the arithmetic.

    Args:
        spec: the convolution.
        weights: its weights.
        rows: the weights of each output channel.
        usual: see ``prove``.
    """
    if spec.in_dtype != "int8":
        return None
    epilogue = epilogue_of(spec, weights, rows, usual)
    if epilogue is None or (epilogue.form is not None and epilogue.form.is_wide):
        return None
    return epilogue
