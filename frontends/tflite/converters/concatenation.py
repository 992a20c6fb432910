"""CONCATENATION."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import activate, check_clamps
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.quantization import check_same_quantization, check_symmetric
from frontends.tflite.converters.registry import (
    converter,
    float_converter,
    int16_converter,
    unscaled_converter,
)
from frontends.tflite.options import ConcatenationOptions
from qnn_ops import QnnError, quantized_concat


@int16_converter("CONCATENATION")
@converter("CONCATENATION")
def convert_concatenation(ctx: Context) -> relax.Expr:
    """Rescale inputs of their own scale for uint8; for int8 they are an error, as in LiteRT.

    Of int16, LiteRT does not look at the scales.
    """
    options, result = ctx.options(ConcatenationOptions), ctx.output()
    if options.activation != "NONE":
        raise UnsupportedError(f"fused activation {options.activation}")
    operands = ctx.inputs()
    if result.dtype == "int8":
        for operand in operands:
            check_same_quantization(operand.tensor, result)
    encodings = [operand.quantization for operand in operands]
    if result.dtype == "int16":
        check_symmetric(*(operand.tensor for operand in operands), result)
        encodings = [per_tensor(result)] * len(operands)
    return quantized_concat(
        [operand.expr for operand in operands],
        [scale for scale, _ in encodings],
        [point for _, point in encodings],
        *per_tensor(result),
        result.dtype,
        axis=options.axis,
    )


@unscaled_converter("CONCATENATION")
def convert_unscaled_concatenation(ctx: Context) -> relax.Expr:
    """Join uint8 tensors of which some state no scale, which to LiteRT is a scale of 0.

    Such an input is all zero point of the result; and what is rescaled to such a result is no
    number, and so becomes 0.
    """
    options, result = ctx.options(ConcatenationOptions), ctx.output()
    if options.activation != "NONE":
        raise UnsupportedError(f"fused activation {options.activation}")
    if result.dtype != "uint8":
        raise QnnError("some tensors state a scale and zero point, and others do not")
    filler = 0 if result.quantization is None else per_tensor(result)[1]
    parts, encodings = [], []
    for operand in ctx.inputs():
        is_scaled = operand.tensor.quantization is not None
        if result.quantization is None:
            encodings.append((1.0, 0))
            is_kept = not is_scaled
        else:
            encodings.append(operand.quantization if is_scaled else per_tensor(result))
            is_kept = is_scaled
        full = R.full(operand.shape, relax.const(filler, "uint8"), "uint8")
        parts.append(operand.expr if is_kept else ctx.builder.emit(full))
    scales, points = zip(*encodings, strict=True)
    target = (1.0, 0) if result.quantization is None else per_tensor(result)
    return quantized_concat(parts, scales, points, *target, "uint8", axis=options.axis)


@float_converter("CONCATENATION")
def convert_float_concatenation(ctx: Context) -> relax.Expr:
    """Join float32 tensors."""
    options = ctx.options(ConcatenationOptions)
    check_clamps(options.activation)
    joined = R.concat([operand.expr for operand in ctx.inputs()], options.axis)
    return activate(options.activation, joined)
