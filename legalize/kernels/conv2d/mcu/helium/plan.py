"""Plans of convolutions and dense layers with Helium."""

from functools import partial

from legalize.kernels.conv2d.mcu.epilogue import Epilogue, epilogue_of, folded_bias
from legalize.kernels.conv2d.mcu.helium.epilogue import constants
from legalize.kernels.conv2d.mcu.helium.kernel import conv2d, packed_rows
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import UNFUSED, ConvSpec
from legalize.kernels.ir.vectors import Array
from legalize.kernels.rescale import USUAL


def plan_helium(spec: ConvSpec, weights: Weights) -> Ready | None:
    """Plan a convolution of int8, if its rescaling has a form of 32 bits."""
    rows = weights.kernel.reshape(spec.out_channels, -1)
    epilogue = helium_epilogue(spec, weights, rows)
    if epilogue is None:
        return None
    arrays = packed_rows(spec, rows), *constants(epilogue)
    return Ready(spec, arrays, partial(conv2d, spec, epilogue))


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
