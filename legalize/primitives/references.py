"""Operators whose primitives are their references, called with expressions."""

from functools import partial
from typing import Any

from tvm import relax
from tvm.relax import Expr

from legalize.primitives.registry import Builder, primitive
from legalize.primitives.softmax import open_softmax
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime
from qnn_ops.dialect.expressions import emitted
from qnn_ops.dialect.registry import Attrs, Operator, constant_of, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.quantized.binary import (
    quantized_add,
    quantized_multiply,
    quantized_prelu,
    quantized_squared_difference,
    quantized_subtract,
)
from qnn_ops.quantized.concat import quantized_concat
from qnn_ops.quantized.dynamic_quantization import dynamic_encoding, dynamic_quantize
from qnn_ops.quantized.lookup import quantized_lookup
from qnn_ops.quantized.mean import quantized_mean
from qnn_ops.quantized.pad import quantized_pad
from qnn_ops.quantized.quantization import dequantize, quantize, requantize
from qnn_ops.quantized.relu import quantized_relu
from qnn_ops.quantized.resize2d import quantized_resize2d
from qnn_ops.quantized.softmax import quantized_softmax
from qnn_ops.quantized.svdf import quantized_svdf, quantized_svdf_state
from qnn_ops.unquantized.boxes import decode_boxes
from qnn_ops.unquantized.float_arithmetic import fused_multiply_add


def _lower(operator: Operator[Any], builder: Builder, attrs: Attrs, *operands: Expr) -> Expr:
    return emitted(builder, operator.compute, attrs, *operands)


for _operator in (
    decode_boxes,
    dynamic_encoding,
    dynamic_quantize,
    fused_multiply_add,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_lookup,
    quantized_mean,
    quantized_multiply,
    quantized_pad,
    quantized_prelu,
    quantized_relu,
    quantized_resize2d,
    quantized_squared_difference,
    quantized_subtract,
    quantized_svdf,
    quantized_svdf_state,
    requantize,
):
    primitive(_operator)(partial(_lower, _operator))


@primitive(dequantize)
def _dequantize(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    known = constant_of(data)
    if known is not None:  # numpy is faster than code for one run
        return relax.const(dequantize.apply(attrs, known), "float32")
    return _lower(dequantize, builder, attrs, data)


@primitive(quantized_softmax)
def _softmax(builder: Builder, attrs: Attrs, data: Expr) -> Expr:
    shape = spec_of(data).shape
    is_last = attrs.axis % len(shape) == len(shape) - 1
    if is_last and is_open(shape[-1:]) and is_onnxruntime(attrs):
        return open_softmax(builder, attrs, data)
    return _lower(quantized_softmax, builder, attrs, data)
