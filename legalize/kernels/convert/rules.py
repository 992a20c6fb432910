"""Rules for the conversions from and to float32."""

from legalize.kernels.call import call_tir
from legalize.kernels.convert import kernel as real
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from qnn_ops import dequantize, quantize
from qnn_ops.dialect.checks import QUANTIZED
from qnn_ops.dialect.declared import LITERT
from qnn_ops.dialect.registry import Attrs, spec_of


def _quantize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    shape, dtype = spec_of(operands[0]).shape, attrs.out_dtype
    # Primitives that round half to even are vector code, too. They fuse with the operator that
    # computes the data.
    by_primitives = hasattr(attrs, "multiplier") or attrs.arithmetic != LITERT
    if by_primitives or not _is_served(attrs, shape, dtype):
        return None
    function = real.quantize(isa, shape, attrs.scale, attrs.zero_point, dtype)
    return call_tir(builder, "quantize", function, list(operands), shape, dtype)


def _dequantize(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    data = spec_of(operands[0])
    if not _is_served(attrs, data.shape, data.dtype):
        return None
    function = real.dequantize(isa, data.shape, attrs.scale, attrs.zero_point, data.dtype)
    return call_tir(builder, "dequantize", function, list(operands), data.shape, "float32")


def _is_served(attrs: Attrs, shape: tuple[int, ...], dtype: str) -> bool:
    is_per_tensor = not isinstance(attrs.scale, tuple) and not isinstance(attrs.zero_point, tuple)
    return is_per_tensor and dtype in QUANTIZED and bool(shape) and 0 not in shape


RULES = (
    (quantize, _quantize),
    (dequantize, _dequantize),
)
