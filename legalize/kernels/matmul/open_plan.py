"""Rules for products of two matrices of open sizes, on x86."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.dot.plan import DotPlan, products_of
from legalize.kernels.conv2d.x86.epilogue.base import Scales
from legalize.kernels.conv2d.x86.epilogue.choose import choose_epilogue
from legalize.kernels.conv2d.x86.epilogue.steps import MAX_ACCUMULATOR
from legalize.kernels.conv2d.x86.tiling import lane_channels
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.matmul.open_sizes import OpenKernel
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import QUANTIZED
from qnn_ops.dialect.registry import Attrs, TensorSpec, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.quantized.matmul import matmul_multiplier

_TYPICAL_ROWS, _TYPICAL_DEPTH = 240, 64
_MOST_NR = 4
_ANY = 2**31 - 1


def open_matmul(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr, isa: Isa
) -> relax.Expr | None:
    """Return a ``quantized_matmul`` of open sizes as a kernel's call; None if none serves it."""
    left, right = spec_of(lhs), spec_of(rhs)
    outer = left.shape[:-2]
    is_served = (
        isa.has_byte_products
        and {left.dtype, right.dtype, attrs.out_dtype} <= set(QUANTIZED)
        and len(left.shape) == len(right.shape) >= 2
        and outer == right.shape[:-2]
        and attrs.rounding in ("tflite", "float32")
    )
    if not is_served:
        return None
    columns, depth = right.shape[-2 if attrs.transpose_rhs else -1], left.shape[-1]
    dense, tile = _dense(attrs, left, columns, isa)
    lanes = lane_channels(dense, isa, (tile,))
    factors = np.broadcast_to(np.asarray(matmul_multiplier(attrs)).reshape(-1), dense.out_channels)
    multiplier: Any = factors.astype(np.float32)
    shift: Any = np.zeros(dense.out_channels, np.int32)
    if attrs.rounding == "tflite":
        multiplier, shift = quantize_multiplier(factors)
    bias = np.zeros(dense.out_channels, np.int32)
    most = _most(attrs, left, right)
    ways = [
        choose_epilogue(dense.output, None, Scales(multiplier, shift, bias, bound), lanes)
        for bound in ([MAX_ACCUMULATOR - 1, _ANY] if is_open([depth]) else [depth * most])
    ]
    constants = []
    for chosen in ways:
        addends = deal((bias + chosen.offset).astype(np.int32), lanes)
        constants += [relax.const(array, str(array.dtype)) for array in (addends, *chosen.arrays)]
    point = attrs.rhs_zero_point - (128 if right.dtype == "uint8" else 0)
    plan = DotPlan(dense, products_of(dense, isa), (tile,), 0.0)
    epilogues = [chosen.epilogue for chosen in ways]
    limit = (MAX_ACCUMULATOR - 1) // most
    kernel = OpenKernel(plan, epilogues, (left, right), attrs.transpose_rhs, point, limit)
    shape, name = (*left.shape[:-1], columns), f"{SORTED_LAST}matmul"
    return call_tir(builder, name, kernel.build(), [lhs, rhs, *constants], shape, attrs.out_dtype)


def _most(attrs: Attrs, left: TensorSpec, right: TensorSpec) -> int:
    """Return an upper bound of the absolute value of a product."""
    points = (left.dtype, attrs.lhs_zero_point), (right.dtype, attrs.rhs_zero_point)
    ends = [max(abs(end - point) for end in dtype_range(dtype)) for dtype, point in points]
    return ends[0] * ends[1]


def _dense(attrs: Attrs, left: TensorSpec, columns: Any, isa: Isa) -> tuple[ConvSpec, Section]:
    """Describe a block of columns as a dense layer; return the layer and its tile."""
    low, high = dtype_range(attrs.out_dtype)
    output = OutputStage(attrs.out_dtype, attrs.output_zero_point, low, high, attrs.rounding)
    nr = _MOST_NR if is_open([columns]) else min(_MOST_NR, isa.vectors(columns))
    depth = left.shape[-1]
    dense = ConvSpec(
        *(_TYPICAL_ROWS, 1, 1, _TYPICAL_DEPTH if is_open([depth]) else depth, 1, 1, nr * isa.lanes),
        in_dtype=left.dtype,
        input_zero_point=attrs.lhs_zero_point,
        staged_dtype="uint8",
        output=output,
    )
    products = products_of(dense, isa)
    mr = max(
        mr for mr in range(1, 13) if mr * nr + nr * products.parts + products.spare <= isa.registers
    )
    return dense, Section(0, 1, nr, mr)
