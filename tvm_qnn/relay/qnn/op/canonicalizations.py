"""``relay.qnn.op.canonicalizations``: functions of quantized values as tables."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax

import qnn_ops
from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.errors import QnnError
from tvm_qnn.relay.expr import const, number, spec, typed


def create_integer_lookup_table(
    floating_point_func: Callable[[np.ndarray], np.ndarray],
    input_scale: Any,
    input_zero_point: Any,
    output_scale: Any,
    output_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> np.ndarray:
    """Return the quantized results of a real function for each bit pattern of the input's dtype.

    Values are dequantized, computed and quantized in float32, with halves rounded away from zero.
    Pattern i is the input with the bits of the unsigned integer i.

    Args:
        floating_point_func: a function of a float32 array that returns real numbers.
        input_scale: the input's scale.
        input_zero_point: the input's zero point.
        output_scale: the result's scale.
        output_zero_point: the result's zero point.
        in_axis: has no effect, since a table has one scale.
        out_axis: has no effect, since a table has one scale.
        in_dtype: int8, uint8, int16 or uint16.
        out_dtype: an integer dtype.

    Raises:
        ValueError: if a dtype is not an integer dtype.
        QnnError: if a scale is not above 0.
    """
    del in_axis, out_axis
    if not all(np.issubdtype(np.dtype(dtype), np.integer) for dtype in (in_dtype, out_dtype)):
        raise ValueError(f"a table maps integers to integers, got {in_dtype} and {out_dtype}")
    bits = np.dtype(in_dtype).itemsize * 8
    steps = np.arange(2**bits).astype(f"uint{bits}").view(in_dtype).astype(np.int32)
    info = np.iinfo(out_dtype)
    scales = [np.float32(number("scale", each)) for each in (input_scale, output_scale)]
    if min(scales) <= 0:
        raise QnnError(f"a table needs scales above 0, got {scales[0]} and {scales[1]}")
    points = [number("zero point", each) for each in (input_zero_point, output_zero_point)]
    with np.errstate(all="ignore"):
        real = floating_point_func((steps - points[0]).astype(np.float32) * scales[0])
        quotient = np.asarray(real, np.float32) / scales[1]
        result = round_half_away(quotient) + np.float32(points[1])
    return np.clip(np.nan_to_num(result, nan=0), info.min, info.max).astype(out_dtype)


def create_integer_lookup_op(
    input_arg: relax.Expr,
    floating_point_func: Callable[[np.ndarray], np.ndarray],
    in_scale: Any,
    in_zero_point: Any,
    out_scale: Any,
    out_zero_point: Any,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> relax.Call:
    """Compute a real function of int8 or uint8 values with a table; see the function above.

    Raises:
        QnnError: if the values have another dtype.
    """
    quantization = (in_scale, in_zero_point, out_scale, out_zero_point)
    table = create_integer_lookup_table(
        floating_point_func, *quantization, in_axis, out_axis, in_dtype, out_dtype
    )
    if spec("x", input_arg).dtype not in ("int8", "uint8"):
        raise QnnError(f"a table takes int8 or uint8, got {in_dtype}")
    if in_dtype == "int8":  # the dialect's tables begin with the lowest value
        table = np.roll(table, 128)
    return typed(qnn_ops.quantized_lookup(input_arg, const(table)))
