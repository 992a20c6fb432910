"""Rules for padding."""

from legalize.kernels.call import call_tir
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.kernels.pad.kernel import pad
from qnn_ops import quantized_pad
from qnn_ops.dialect.registry import Attrs, spec_of


def _pad(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    data = spec_of(operands[0])
    if not any(attrs.pad_width) or 0 in data.shape:
        return None
    widths = tuple(zip(attrs.pad_width[::2], attrs.pad_width[1::2], strict=True))
    shape = tuple(size + sum(width) for size, width in zip(data.shape, widths, strict=True))
    function = pad(data.shape, data.dtype, widths, attrs.pad_value)
    return call_tir(builder, "pad", function, list(operands), shape, data.dtype)


RULES = ((quantized_pad, _pad),)
