"""Rules for SVDFs with constant weights."""

import numpy as np

from legalize.kernels.call import call_tir
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.kernels.svdf.kernel import Rescaling, Rows, remember, weigh
from qnn_ops import quantized_svdf, quantized_svdf_state
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.dialect.registry import Attrs, as_const, constant_of, spec_of
from qnn_ops.quantized.svdf import output_multiplier, state_multiplier


def _remember(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    (batch, filters), state = spec_of(operands[0]).shape, spec_of(operands[1])
    rescaling = _rescaling(state_multiplier(attrs), attrs.state_zero_point, state.dtype)
    function = remember(isa, batch, filters, state.shape[1] // filters, rescaling)
    return call_tir(builder, "svdf_state", function, list(operands), state.shape, state.dtype)


def _weigh(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    state, constants = spec_of(operands[0]), [constant_of(each) for each in operands[1:]]
    weights, bias = (*constants, None)[:2]
    if weights is None or (len(operands) > 2 and bias is None):
        return None
    units = weights.shape[0] // attrs.rank
    weights = weights.reshape(units, -1)
    rows = Rows(state.shape[0], units, weights.shape[1], state.dtype)
    if not rows.is_served(isa):
        return None
    added = np.zeros(units, np.int64) if bias is None else bias.astype(np.int64)
    added -= attrs.state_zero_point * weights.sum(axis=1, dtype=np.int64)
    rescaling = _rescaling(output_multiplier(attrs), attrs.output_zero_point, "int8")
    arrays = rows.packed(isa, weights), added.astype(np.int32)
    given = [operands[0], *(as_const(array) for array in arrays)]
    function = weigh(isa, rows, rescaling)
    return call_tir(builder, "svdf", function, given, (state.shape[0], units), "int8")


def _rescaling(real: float, zero_point: int, dtype: str) -> Rescaling:
    multiplier, shift = (int(part) for part in quantize_multiplier(np.float64(real)))
    return Rescaling(multiplier, shift, zero_point, dtype)


RULES = (
    (quantized_svdf_state, _remember),
    (quantized_svdf, _weigh),
)
