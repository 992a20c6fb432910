"""CONCATENATION."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import activate
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import converter, float_converter
from frontends.tflite.options import ConcatenationOptions
from qnn_ops import quantized_concat


@converter("CONCATENATION")
def convert_concatenation(ctx: Context) -> relax.Expr:
    """Rescale inputs of their own scale for uint8; for int8 they are an error, as in LiteRT."""
    options, result = ctx.options(ConcatenationOptions), ctx.output()
    if options.activation != "NONE":
        raise UnsupportedError(f"fused activation {options.activation}")
    operands = ctx.inputs()
    if result.dtype == "int8":
        for operand in operands:
            check_same_quantization(operand.tensor, result)
    return quantized_concat(
        [operand.expr for operand in operands],
        [operand.quantization[0] for operand in operands],
        [operand.quantization[1] for operand in operands],
        *per_tensor(result),
        result.dtype,
        axis=options.axis,
    )


@float_converter("CONCATENATION")
def convert_float_concatenation(ctx: Context) -> relax.Expr:
    """Join float32 tensors."""
    options = ctx.options(ConcatenationOptions)
    joined = R.concat([operand.expr for operand in ctx.inputs()], options.axis)
    return activate(options.activation, joined)
