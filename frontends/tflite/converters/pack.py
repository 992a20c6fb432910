"""PACK and UNPACK."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.splits import split
from frontends.tflite.converters.context import Context, axis_of, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.model import Tensor
from frontends.tflite.options import PackOptions, UnpackOptions
from qnn_ops.errors import QnnError


@data_converter("PACK")
def convert_pack(ctx: Context) -> relax.Expr:
    """Join tensors of one shape and encoding along a new axis."""
    shape, operands = ctx.input(0).shape, ctx.inputs()
    for operand in operands:
        _check_alike(operand.tensor, ctx.output())
        if operand.shape != shape:
            raise QnnError(f"{operand.tensor.label} is of shape {operand.shape}, not {shape}")
    axis = axis_of(ctx.options(PackOptions).axis, len(shape) + 1)
    longer = [*shape[:axis], 1, *shape[axis:]]
    parts = [ctx.builder.emit(reshaped(operand.expr, longer)) for operand in operands]
    return R.concat(parts, axis) if len(parts) > 1 else parts[0]


@data_converter("UNPACK")
def convert_unpack(ctx: Context) -> list[relax.Expr]:
    """Cut a tensor into parts of size 1 along an axis, which they lack."""
    options, data = ctx.options(UnpackOptions), ctx.input(0)
    axis = axis_of(options.axis, len(data.shape))
    if options.num != data.shape[axis]:
        raise QnnError(f"unpacks {options.num} along axis {axis} of shape {data.shape}")
    for position in range(len(ctx.operator.outputs)):
        _check_alike(data.tensor, ctx.output(position))
    shape = [*data.shape[:axis], *data.shape[axis + 1 :]]
    parts = split(ctx.builder, data.expr, [1] * options.num, axis) if options.num else []
    return [reshaped(part, shape) for part in parts]


def _check_alike(data: Tensor, result: Tensor) -> None:
    """Raise unless both mean the same by their integers, as LiteRT needs it."""
    encodings = [
        None if each is None else (each.scale[0], each.zero_point[0])
        for each in (data.quantization, result.quantization)
    ]
    if encodings[0] != encodings[1]:
        raise QnnError(f"{data.label} and {result.label} must have the same scale and zero point")
