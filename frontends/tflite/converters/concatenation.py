"""CONCATENATION, PACK, UNPACK, SPLIT and SPLIT_V."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.splits import split
from frontends.tflite.axes import axis_of, split_sizes
from frontends.tflite.converters.activations import activate, check_clamps
from frontends.tflite.converters.context import Context, Operand, per_tensor, reshaped
from frontends.tflite.converters.quantization import check_same_quantization, check_symmetric
from frontends.tflite.converters.registry import (
    converter,
    data_converter,
    float_converter,
    int16_converter,
    unscaled_converter,
)
from frontends.tflite.model import Tensor
from frontends.tflite.options import ConcatenationOptions, PackOptions, SplitOptions, UnpackOptions
from qnn_ops import quantized_concat
from qnn_ops.errors import QnnError


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
    """Join uint8 tensors. Some state no scale, which LiteRT takes for a scale of 0.

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


@data_converter("SPLIT")
def convert_split(ctx: Context) -> list[relax.Expr]:
    """Split into parts of equal size; the axis is the first input."""
    count, data = ctx.options(SplitOptions).num_splits, ctx.input(1)
    axis = axis_of(ctx.integer(0), len(data.shape))
    if data.shape[axis] % count:
        raise QnnError(f"cannot split {data.shape[axis]} along axis {axis} into {count}")
    return _parts(ctx, data, [data.shape[axis] // count] * count, axis)


@data_converter("SPLIT_V")
def convert_split_v(ctx: Context) -> list[relax.Expr]:
    """Split into given sizes along the axis that the third input names; -1 means the rest."""
    data, given = ctx.input(0), ctx.integers(1, ("int32", "int64"))
    axis = axis_of(ctx.integer(2), len(data.shape))
    return _parts(ctx, data, split_sizes(given, data.shape[axis], axis), axis)


def _parts(ctx: Context, data: Operand, sizes: list[int], axis: int) -> list[relax.Expr]:
    if len(sizes) != len(ctx.operator.outputs):
        raise QnnError(f"splits into {len(sizes)}, has {len(ctx.operator.outputs)} outputs")
    # TVM's own split has no parts without elements.
    some = [size for size in sizes if size]
    parts = iter(split(ctx.builder, data.expr, some, axis) if some else ())
    dtype, shape = data.tensor.dtype, data.shape
    nothing = R.zeros([*shape[:axis], 0, *shape[axis + 1 :]], dtype)
    return [next(parts) if size else nothing for size in sizes]
