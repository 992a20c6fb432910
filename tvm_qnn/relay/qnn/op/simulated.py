"""Quantization whose steps stay float32, to a dtype that a run may choose."""

from __future__ import annotations

from typing import Any

from tvm import relax

from qnn_ops.attributes import dtype_range
from qnn_ops.checks import check_choice
from tvm_qnn.relay import op
from tvm_qnn.relay.expr import clip, const, spec
from tvm_qnn.relay.qnn.canonical import along, rounded

SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
"""The number of each dtype in a tensor that chooses one; "disable" leaves data as they are."""


def simulated_quantize(
    data: relax.Expr,
    output_scale: Any,
    output_zero_point: Any,
    axis: int = -1,
    out_dtype: Any = "int8",
) -> relax.Call:
    """Quantize float32 data and keep the steps as float32.

    ``out_dtype`` is a name or an int32 scalar of ``SQNN_DTYPE_TO_CODE``.
    """
    code, shape = _code(out_dtype), spec("simulated_quantize: data", data).shape
    steps = rounded(op.divide(data, along(output_scale, "float32", shape, axis)))
    steps = op.add(steps, along(output_zero_point, "float32", shape, axis))
    result = data
    for dtype in ("int8", "uint8", "int32"):
        result = op.where(_is(code, dtype), clip(steps, *dtype_range(dtype)), result)
    return result


def simulated_dequantize(
    data: relax.Expr,
    input_scale: Any,
    input_zero_point: Any,
    axis: int = -1,
    in_dtype: Any = "int8",
) -> relax.Call:
    """Return the real numbers of steps that are kept as float32; see ``simulated_quantize``."""
    code, shape = _code(in_dtype), spec("simulated_dequantize: data", data).shape
    shifted = op.subtract(data, along(input_zero_point, "float32", shape, axis))
    real = op.multiply(shifted, along(input_scale, "float32", shape, axis))
    return op.where(_is(code, "disable"), data, real)


def _code(dtype: Any) -> relax.Expr:
    if not isinstance(dtype, str):
        return dtype
    check_choice("the simulated dtype", dtype, tuple(SQNN_DTYPE_TO_CODE))
    return const(SQNN_DTYPE_TO_CODE[dtype], "int32")


def _is(code: relax.Expr, dtype: str) -> relax.Expr:
    return op.equal(code, const(SQNN_DTYPE_TO_CODE[dtype], "int32"))
