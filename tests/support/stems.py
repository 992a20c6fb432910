"""Networks whose first layers can run in strips."""

from typing import Any

import numpy as np
import tvm
from tvm import relax

from qnn_ops import quantized_add, quantized_conv2d, quantized_pool2d
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module

SHAPE = (1, 13, 6, 4)

_ENCODING = encodings(
    input=(0.05, -3),
    kernel=(0.01, 0),
    output=(0.08, 5),
    out_dtype="int8",
    data_layout="NHWC",
    kernel_layout="OHWI",
)


def conv(x: relax.Expr, kernel: tuple[int, ...], **changes: Any) -> relax.Expr:
    """A convolution with random weights, OHWI."""
    weights = full_range(np.random.default_rng(sum(kernel)), "int8", kernel)
    bias = np.arange(kernel[0], dtype=np.int32)
    attrs = {**_ENCODING, **changes}
    return emit(quantized_conv2d(x, relax.const(weights), bias=relax.const(bias), **attrs))


def emit(call: relax.Expr) -> relax.Expr:
    return relax.BlockBuilder.current().emit(call)


def network(width: int = SHAPE[2]) -> tvm.IRModule:
    """Convolutions, one with padding at the top alone and one that is dilated, a sum and a pool."""

    def body(x: relax.Var) -> relax.Expr:
        first = conv(x, (8, 3, 3, 4), padding=(1, 1, 1, 1))
        each = conv(first, (8, 3, 3, 1), padding=(1, 1, 1, 1), groups=8)
        points = ("lhs", "rhs", "output")
        encodings: dict[str, Any] = {f"{name}_scale": 0.08 for name in points}
        encodings |= {f"{name}_zero_point": 5 for name in points}
        total = emit(quantized_add(first, each, out_dtype="int8", **encodings))
        low = conv(total, (6, 3, 3, 8), strides=(2, 2), padding=(1, 0, 0, 1))
        wide = conv(low, (6, 3, 1, 6), dilation=(2, 1), padding=(2, 0, 2, 0))
        pooled = emit(quantized_pool2d(wide, "avg", (3, 2), (1, 1), (1, 0, 1, 0), "NHWC"))
        return conv(pooled, (4, pooled.ty.shape.values[1].value, 1, 6))

    shape = (*SHAPE[:2], width, SHAPE[3])
    return module({"x": relax.TensorType(shape, "int8")}, body)
