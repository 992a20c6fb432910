"""Convolutions that write the padding of the convolution after them around their output."""

from __future__ import annotations

from functools import partial

from tvm import relax

from legalize.kernels.conv2d.spec import Border, Fusion
from legalize.kernels.conv2d.x86.rules import CONV_ISAS, rules_of
from legalize.kernels.fusions import BORDERS
from legalize.kernels.ir.registers import DWORD
from legalize.kernels.isa.x86 import Isa
from qnn_ops import quantized_conv2d
from qnn_ops.float_stage import ROUNDING
from qnn_ops.registry import attrs_of, constant_of, spec_of


def with_border(
    builder: relax.BlockBuilder, call: relax.Call, reader: relax.Call, *, isa: Isa
) -> relax.Expr | None:
    """A convolution whose output has a border; arguments as ``fusions.BORDERS`` says.

    Only where the reader's kernel takes the bytes as they are: other ones have channels of their
    own (depthwise), less than fill a step, or another signedness.
    """
    attrs, reads = attrs_of(call), attrs_of(reader)
    layouts = reads.data_layout, reads.out_layout
    is_read_as_it_is = (
        reads.groups == 1
        and layouts == ("NHWC", "NHWC")
        and constant_of(reader.args[1]) is not None
        and attrs.out_dtype == "uint8"
        and spec_of(call).shape[-1] >= DWORD
    )
    if not is_read_as_it_is or attrs.rounding == ROUNDING:
        return None
    fusion = Fusion(border=Border(reads.padding, reads.input_zero_point))
    return rules_of(isa).conv2d(builder, attrs, list(call.args), fusion=fusion)


for _isa in CONV_ISAS:
    # Without products of bytes data is mostly widened when it is padded.
    if _isa.has_byte_products:
        BORDERS.register(quantized_conv2d, *_isa.features)(partial(with_border, isa=_isa))
