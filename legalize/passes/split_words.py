"""Multiply the bytes of int16 data: each half of a word separately."""

from math import prod
from typing import Any

import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.rewriter import CallRewriter, call_pass
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic.sums import SUMS, conv_factor, dense_factor, is_wide, result_of_sums
from qnn_ops.dialect.attributes import per_axis
from qnn_ops.dialect.expressions import emitted
from qnn_ops.dialect.registry import attrs_of, spec_of, with_attrs

# int32 holds the sum of this many products of centred bytes.
_MOST_PRODUCTS = (2**31 - 1) // (255 * 255)

_POINTS = {"uint8": (128, 0), "int8": (0, -128)}
"""The zero points of the high and of the low bytes, by dtype."""


def SplitWords(dtype: str) -> tvm.transform.Pass:
    """Split each convolution or dense layer of int16 data into two of bytes.

    A word is 256 times its high byte, which has a sign, plus its low byte. The sums of both fit
    int32, so everything that multiplies bytes serves, kernels included. Together they give the
    word's sum of 64 bits, which is then scaled.

    Args:
        dtype: the bytes' dtype, ``uint8`` or ``int8``.
    """

    def rule(writer: CallRewriter, _original: relax.Call, call: relax.Call) -> relax.Expr | None:
        if spec_of(call.args[0]).dtype != "int16" or _depth(call) > _MOST_PRODUCTS:
            return None
        halves = zip(_bytes(call.args[0], dtype), _POINTS[dtype], strict=True)
        sums = [writer.builder_.emit(_sums(call, half, point)) for half, point in halves]
        high, low = (R.astype(each, "int64") for each in sums)
        words = R.add(R.left_shift(high, relax.const(8, "int64")), low)
        return _finished(writer.builder_, call, words)

    layers = (quantized_conv2d, quantized_dense)
    return call_pass(dict.fromkeys((each.op.name for each in layers), rule), "SplitWords")


def _bytes(data: relax.Expr, dtype: str) -> tuple[relax.Expr, relax.Expr]:
    """Return the high and the low bytes of int16 data, with their zero points added."""
    high_point, low_point = (relax.const(point, "int16") for point in _POINTS[dtype])
    high = R.add(R.right_shift(data, relax.const(8, "int16")), high_point)
    low = R.add(R.bitwise_and(data, relax.const(255, "int16")), low_point)
    return R.astype(high, dtype), R.astype(low, dtype)


def _sums(call: relax.Call, data: relax.Expr, point: int) -> relax.Call:
    """Return the sums of products of bytes and the weights of a call."""
    alone = relax.Call(call.op, [data, call.args[1]], call.attrs)
    return with_attrs(alone, input_zero_point=point, **SUMS)


def _finished(builder: relax.BlockBuilder, call: relax.Call, sums: relax.Expr) -> relax.Expr:
    """Return a call's result, given its sums, which are int64 and lack the bias."""
    attrs, rank, axis = attrs_of(call), len(spec_of(call).shape), -1
    if call.op.name == quantized_conv2d.op.name:
        axis = attrs.out_layout.index("C")
    bias = call.args[2] if len(call.args) > 2 else None
    wide = True
    if bias is not None:
        channels = spec_of(bias)
        wide = is_wide("int16", channels.dtype)
        shape = [1] * rank
        shape[axis] = channels.shape[0]
        bias = R.reshape(bias, shape)
    factor = per_axis(_multiplier(call), axis, rank)
    return emitted(builder, result_of_sums, attrs, sums, bias, factor, wide=wide)


def _depth(call: relax.Call) -> int:
    shape = spec_of(call.args[1]).shape
    if call.op.name == quantized_dense.op.name:
        return shape[1]
    return prod(shape) // shape[attrs_of(call).kernel_layout.index("O")]


def _multiplier(call: relax.Call) -> Any:
    attrs = attrs_of(call)
    factor = dense_factor if call.op.name == quantized_dense.op.name else conv_factor
    return factor(attrs, spec_of(call.args[1]).dtype)
