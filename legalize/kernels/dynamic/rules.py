"""Rules for the quantization of rows at run time: the kernels serve all data with elements."""

from legalize.kernels.call import call_tir
from legalize.kernels.dynamic import kernel
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from qnn_ops import dynamic_encoding, dynamic_quantize
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.quantized.dynamic_quantization import FIELDS


def _encode(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    shape = spec_of(operands[0]).shape
    if 0 in shape:
        return None
    whole = attrs.whole
    if is_open(shape) and not whole:
        return None  # its rows are separate
    function = kernel.encode(isa, shape, bool(attrs.asymmetric), attrs.arithmetic, whole)
    result = (FIELDS,) if whole else (*shape[:-1], FIELDS)
    return call_tir(builder, "dynamic_encoding", function, list(operands), result, "float32")


def _quantize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    shape = spec_of(operands[0]).shape
    if 0 in shape:
        return None
    whole = spec_of(operands[1]).shape == (FIELDS,)
    function = kernel.quantize(isa, shape, attrs.out_dtype, attrs.arithmetic, whole)
    operands = list(operands)
    return call_tir(builder, "dynamic_quantize", function, operands, shape, attrs.out_dtype)


RULES = (
    (dynamic_encoding, _encode),
    (dynamic_quantize, _quantize),
)
OPEN = (_encode,)
"""The rules that also take open sizes."""
