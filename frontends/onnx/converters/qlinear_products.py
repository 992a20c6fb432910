"""QLinearConv and QLinearMatMul that are no groups, as their encodings only the run tells."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.attributes import dtype_range
from qnn_ops.checks import QUANTIZED
from qnn_ops.registry import spec_of

_IMAGE_RANK = 4


@converter("QLinearMatMul")
def _matmul(
    builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    a, sa, za, b, sb, zb, sy, zy = operands_of(operands, 8)
    _check(a, b, zy, (sa, sb, sy))
    left, right = (_centred(builder, *pair) for pair in ((a, za), (b, zb)))
    sums = builder.emit(R.matmul(left, right, out_dtype="int32"))
    return _requantized(builder, sums, (sa, sb, sy), zy)


@converter("QLinearConv")
def _conv(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    x, sx, zx, w, sw, zw, sy, zy, bias = operands_of(operands, 9)
    _check(x, w, zy, (sx, sw, sy))
    if len(spec_of(x).shape) != _IMAGE_RANK or attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
        raise UnsupportedError("its window must have two dimensions, and its padding be stated")
    sums = R.nn.conv2d(
        _centred(builder, x, zx),
        _centred(builder, w, zw, (-1, 1, 1, 1)),
        strides=list(attributes.get("strides", (1, 1))),
        padding=list(attributes.get("pads", (0, 0, 0, 0))),
        dilation=list(attributes.get("dilations", (1, 1))),
        groups=int(attributes.get("group", 1)),
        out_dtype="int32",
    )
    if bias is not None:
        sums = R.add(builder.emit(sums), R.reshape(bias, (1, -1, 1, 1)))
    scales = (sx, builder.emit(R.reshape(sw, (-1, 1, 1))), sy)
    return _requantized(builder, builder.emit(sums), scales, zy)


def _check(data: Any, weights: Any, point: Any, scales: tuple[Any, ...]) -> None:
    if any(spec_of(scale).dtype != "float32" for scale in scales):
        raise UnsupportedError("scales must be float32")
    dtypes = [spec_of(each).dtype for each in (data, weights, point)]
    if dtypes[0] not in QUANTIZED or dtypes[0] != dtypes[2] or dtypes[1] not in QUANTIZED:
        raise UnsupportedError("data and result must be of one 8-bit dtype, and the weights 8-bit")


def _centred(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    point: relax.Expr,
    shape: tuple[int, ...] | None = None,
) -> relax.Expr:
    """Return values less their zero point, or that of each output channel; int32."""
    point = builder.emit(R.astype(point, "int32"))
    if shape is not None:
        point = builder.emit(R.reshape(point, shape))
    return builder.emit(R.subtract(R.astype(data, "int32"), point))


def _requantized(
    builder: relax.BlockBuilder,
    sums: relax.Expr,
    scales: tuple[relax.Expr, relax.Expr, relax.Expr],
    point: relax.Expr,
) -> relax.Expr:
    """Multiply sums by float32 scales, bound, round half to even, and add the zero point."""
    first, second, result = scales
    factor = builder.emit(R.divide(R.multiply(first, second), result))
    steps = builder.emit(R.multiply(R.astype(sums, "float32"), factor))
    dtype = spec_of(point).dtype
    origin = builder.emit(R.astype(R.reshape(point, ()), "int32"))
    lowest, highest = (
        R.astype(R.subtract(relax.const(end, "int32"), origin), "float32")
        for end in dtype_range(dtype)
    )
    bounded = R.round(R.minimum(R.maximum(steps, lowest), highest))
    return R.astype(R.add(R.astype(bounded, "int32"), origin), dtype)
