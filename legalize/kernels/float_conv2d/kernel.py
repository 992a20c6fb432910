"""Convolutions of float32, in tiles whose sums stay in registers and keep a given order.

    for each block of units, and row of pixels      in parallel, if there is work for several
      for each tile of pixels
        for each row and column of the window inside the image, and each input channel
          sums += data · weights, both rounded
        output = the clamp of sums + bias + addend

In ONNX Runtime's orders a sum is added part by part. If a part is not all taps of some channels, a
table holds the offsets of its data. Lanes are units, so a sum is one lane, and vectors change no
order. In a depthwise convolution the lanes of the data are the same channels. The last tile of a
row overlaps the one before.
"""

from functools import cache

from tvm import tirx

from legalize.kernels.float_conv2d.dense import Dense, InParts
from legalize.kernels.float_conv2d.depthwise import Depthwise, InRuns
from legalize.kernels.float_conv2d.spec import FloatConv
from legalize.kernels.isa.base import VectorIsa
from legalize.written import new_function


@cache
def float_conv(
    isa: VectorIsa, spec: FloatConv, data: tuple[int, ...] = (), output: tuple[int, ...] = ()
) -> tirx.PrimFunc:
    """Build the function of a convolution.

    Args:
        isa: the instruction set.
        spec: the convolution.
        data: the shape of the data in memory, if it differs from the image's.
        output: the shape of the result in memory, if it differs.

    Returns:
        A function of the data, the packed kernel (see ``rules``), perhaps the bias, the addend and
        the table of offsets, and the output.
    """
    with new_function("float_conv2d") as builder:
        kind = _KINDS[spec.is_depthwise, spec.parts is not None]
        kind(isa, spec.in_a_row(), data or spec.data_shape, output or spec.shape).write()
    return builder.get()


_KINDS = {
    (False, False): Dense,
    (False, True): InParts,
    (True, False): Depthwise,
    (True, True): InRuns,
}
"""The keys tell whether a convolution is depthwise, and whether it has ONNX Runtime's order."""
