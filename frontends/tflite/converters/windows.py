"""REDUCE_WINDOW and STABLEHLO_REDUCE_WINDOW."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.control import subgraph
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.converters.stablehlo_pad import check_axes, spread
from frontends.tflite.options import ReduceWindowOptions, StablehloReduceWindowOptions
from qnn_ops import QnnError, reduce_windows
from qnn_ops.reduce_windows import window_counts
from qnn_ops.registry import spec_of

_DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
_MOST_AXES = 6  # that LiteRT takes
_REDUCTIONS = {
    "ADD": "add",
    "ALL": "all",
    "ANY": "any",
    "MAXIMUM": "maximum",
    "MINIMUM": "minimum",
    "MUL": "multiply",
}
_FUNCTIONS = {
    **{f"{start}ADD": "ADD" for start in ("", "STABLEHLO_")},
    **{f"{start}MAXIMUM": "MAXIMUM" for start in ("", "STABLEHLO_")},
    **{f"{start}MINIMUM": "MINIMUM" for start in ("", "STABLEHLO_")},
    **dict.fromkeys(("MUL", "STABLEHLO_MULTIPLY"), "MUL"),
    **dict.fromkeys(("LOGICAL_AND", "STABLEHLO_AND"), "ALL"),
    **dict.fromkeys(("LOGICAL_OR", "STABLEHLO_OR"), "ANY"),
}
"""How a subgraph's one operator reduces."""


@data_converter("STABLEHLO_REDUCE_WINDOW")
def convert_stablehlo_reduce_window(ctx: Context) -> relax.Expr:
    """Reduce windows of what a value is put around and between."""
    options, rank = ctx.options(StablehloReduceWindowOptions), len(ctx.input(0).shape)
    codes = [each.code for each in subgraph(ctx, options.body_subgraph_index).operators]
    if len(codes) != 1 or codes[0] not in _FUNCTIONS:
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
    return _reduced(ctx, padded, start, _FUNCTIONS[codes[0]], window, strides, steps)


@data_converter("REDUCE_WINDOW")
def convert_reduce_window(ctx: Context) -> relax.Expr:
    """Reduce windows, whose sizes, strides and dilations are operands."""
    data, start = _operands(ctx)
    operands = [ctx.integers(place, ("int64",)) for place in (2, 3, 4)]
    function = ctx.options(ReduceWindowOptions).reduce_function
    if function == "UNSUPPORTED":
        raise UnsupportedError("states no function")
    return _reduced(ctx, data, start, function, *operands)


def _operands(ctx: Context) -> tuple[relax.Expr, relax.Expr]:
    """Return the data, and the value with which each window begins."""
    data, start, dtype = ctx.input(0), ctx.input(1), ctx.output().dtype
    types = {data.tensor.dtype, start.tensor.dtype}
    if types != {dtype} or dtype not in _DTYPES or not 0 < len(data.shape) <= _MOST_AXES:
        raise UnsupportedError(f"from {sorted(types)} of shape {data.shape} to {dtype}")
    if prod(start.shape) != 1:
        raise QnnError(f"{start.tensor.label} must be one value, is of shape {start.shape}")
    return data.expr, reshaped(start.expr, ())


def _reduced(
    ctx: Context,
    data: relax.Expr,
    start: relax.Expr,
    function: str,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> relax.Expr:
    """Combine the elements of each window, one after the other in their order."""
    emit, data = ctx.builder.emit, ctx.builder.emit(data)
    shape, dtype = spec_of(data).shape, ctx.output().dtype
    for name, values in (("sizes", window), ("strides", strides), ("dilations", dilations)):
        check_axes(f"the windows' {name}", values, len(shape), 1)
    counts = window_counts(shape, window, strides, dilations)
    if 0 in counts:
        return R.zeros(counts, dtype)
    if dtype == "bool" and function in ("ADD", "MUL"):
        raise UnsupportedError(f"{function} of bool, which gives other bytes than 0 and 1")
    first = emit(reshaped(start, (1,)))
    if dtype == "bool":
        data, first = (emit(R.astype(each, "int8")) for each in (data, first))
    reduction = _REDUCTIONS[function]
    result = emit(reduce_windows(data, first, window, strides, dilations, reduction))
    return R.astype(result, "bool") if dtype == "bool" else result
