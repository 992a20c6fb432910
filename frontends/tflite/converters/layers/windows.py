"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D, and other reductions of windows."""

from collections.abc import Sequence
from functools import partial

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import activate, clamp_range
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.control import subgraph
from frontends.tflite.converters.layers.convolution import check_window, window_of
from frontends.tflite.converters.moves.pad import check_axes, spread
from frontends.tflite.converters.scales import check_same_dtype
from frontends.tflite.operators import COMPUTED, OPERATORS, Row, converter, row_of
from frontends.tflite.options.base import Options
from qnn_ops import quantized_pool2d, reduce_windows
from qnn_ops.dialect.registry import spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.reduce_windows import window_counts

_DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
_MOST_AXES = 6  # that LiteRT takes


def convert_pool_2d(kind: str, ctx: Context) -> relax.Expr:
    """Pool integers: LiteRT assumes that input and output have one scale and zero point."""
    options, data, result = ctx.options, ctx.input(0, rank=4), ctx.output()
    check_same_dtype(data.tensor, result)
    if is_open(data.shape[3:]):
        raise QnnError(f"the channels must be a number, got {data.shape[3]}")
    low, high = clamp_range(options.activation, result)
    window = window_of(options, data.shape[1:3], options.filter)
    counts = _counts(options, data.shape[1:3])
    if 0 in counts:
        return R.zeros((data.shape[0], *counts, data.shape[3]), result.dtype)
    return quantized_pool2d(
        data.expr,
        kind,
        options.filter,
        strides=window["strides"],
        padding=window["padding"],
        layout="NHWC",
        out_min=low,
        out_max=high,
    )


def _counts(options: Options, sizes: Sequence[int]) -> list[int]:
    """Count the positions of a window along height and width.

    If a window without padding is wider than the image by two steps or more, LiteRT also gives the
    result no height.
    """
    steps = options.stride
    if options.padding == "SAME":
        return [-(-size // step) for size, step in zip(sizes, steps, strict=True)]
    high, wide = (
        size + step - taps for size, taps, step in zip(sizes, options.filter, steps, strict=True)
    )
    if wide <= -steps[1]:
        return [0, 0]
    return [max(0, high) // steps[0], max(0, wide) // steps[1]]


def convert_float_pool_2d(kind: str, ctx: Context) -> relax.Expr:
    """Pool the pixels inside the image; an L2 pooling is the root of the mean of squares."""
    options, data = ctx.options, ctx.input(0, rank=4)
    window = window_of(options, data.shape[1:3], options.filter)
    check_window(data.shape[1:3], options.filter, **window)
    pool = R.nn.max_pool2d if kind == "max" else R.nn.avg_pool2d
    values = R.square(data.expr) if kind == "l2" else data.expr
    result = pool(values, options.filter, **window, layout="NHWC")
    return activate(options.activation, R.sqrt(result) if kind == "l2" else result)


@converter("STABLEHLO_REDUCE_WINDOW")
def convert_stablehlo_reduce_window(ctx: Context) -> relax.Expr:
    """Reduce windows of data; a value pads the data around and between its elements."""
    options, rank = ctx.options, len(ctx.input(0).shape)
    codes = [each.code for each in subgraph(ctx, options.body_subgraph_index).operators]
    reduction = row_of(codes[0]).combines if len(codes) == 1 else ""
    if not reduction:
        raise UnsupportedError(f"combines numbers by {', '.join(codes) or 'nothing'}")
    dilations = check_axes("base_dilations", options.base_dilations, rank, 1)
    if len(options.padding) != 2 * rank:
        raise QnnError(f"padding must have {2 * rank} numbers, got {options.padding}")
    low, high = (check_axes("padding", options.padding[i::2], rank, -(2**31 - 1)) for i in (0, 1))
    between = [dilation - 1 for dilation in dilations]
    data, start = _operands(ctx)
    if 0 in ctx.input(0).shape:
        raise UnsupportedError(f"{ctx.tensor(0).label} has no elements")
    padded = spread(ctx.builder, data, start, low, high, between)
    if 0 in spec_of(ctx.builder.typed(padded)).shape:
        raise UnsupportedError("padding leaves no elements")
    window, strides, steps = (
        getattr(options, f"window_{name}") for name in ("dimensions", "strides", "dilations")
    )
    return _reduced(ctx, padded, start, reduction, window, strides, steps)


@converter("REDUCE_WINDOW")
def convert_reduce_window(ctx: Context) -> relax.Expr:
    """Reduce windows, whose sizes, strides and dilations are operands."""
    data, start = _operands(ctx)
    operands = [ctx.integers(index, ("int64",)) for index in (2, 3, 4)]
    function = ctx.options.reduce_function
    if function == "UNSUPPORTED":
        raise UnsupportedError("states no function")
    reduction = "multiply" if function == "MUL" else function.lower()
    return _reduced(ctx, data, start, reduction, *operands)


def _operands(ctx: Context) -> tuple[relax.Expr, relax.Expr]:
    """Return the data, and the value with which each window begins."""
    data, dtype = ctx.input(0), ctx.output().dtype
    if data.dtype != dtype or dtype not in _DTYPES or not 0 < len(data.shape) <= _MOST_AXES:
        raise UnsupportedError(f"from {data.dtype} of shape {data.shape} to {dtype}")
    return data.expr, ctx.single(1, dtype)


def _reduced(
    ctx: Context,
    data: relax.Expr,
    start: relax.Expr,
    reduction: str,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> relax.Expr:
    """Combine the elements of each window, one after the other in their order."""
    emit, data = ctx.emit, ctx.emit(data)
    shape, dtype = spec_of(data).shape, ctx.output().dtype
    for name, values in (("sizes", window), ("strides", strides), ("dilations", dilations)):
        check_axes(f"the windows' {name}", values, len(shape), 1)
    counts = window_counts(shape, window, strides, dilations)
    if 0 in counts:
        return R.zeros(counts, dtype)
    if dtype == "bool" and reduction in ("add", "multiply"):
        raise UnsupportedError(f"{reduction} of bool, which gives other bytes than 0 and 1")
    first = emit(reshaped(start, (1,)))
    if dtype == "bool":
        data, first = (emit(R.astype(each, "int8")) for each in (data, first))
    result = emit(reduce_windows(data, first, window, strides, dilations, reduction))
    return R.astype(result, "bool") if dtype == "bool" else result


OPERATORS.update(
    {
        **{
            code: Row(
                scaled=partial(convert_pool_2d, kind),
                floats=partial(convert_float_pool_2d, kind),
                micro=COMPUTED,
                is_for_every_scale=True,
            )
            for code, kind in (("AVERAGE_POOL_2D", "avg"), ("MAX_POOL_2D", "max"))
        },
        "L2_POOL_2D": Row(floats=partial(convert_float_pool_2d, "l2")),
    }
)
