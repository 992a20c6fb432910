"""From real numbers to int8 by encodings of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.arithmetic import round_half_away
from qnn_ops.checks import QUANTIZED, check_dtype
from qnn_ops.dynamic_encoding import FIELDS
from qnn_ops.errors import QnnError
from qnn_ops.onnxruntime import check_arithmetic, is_onnxruntime, quantize_onnxruntime
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import Channels, Traits, moving

Array = np.ndarray[Any, Any]

LARGEST_STEPS = 512.0
"""What is beyond it is outside of every range, and within it sums are exact."""

OFFSETS = {"int8": 0, "uint8": 128}
"""What each dtype adds to the values."""


@operator(
    "data",
    "encoding",
    traits=Traits(
        zero_points={},
        moved=moving(),
        keeps=None,
        clamps=False,
        channels=Channels.LAST,
    ),
)
def dynamic_quantize(
    data: relax.Expr,
    encoding: relax.Expr,
    out_dtype: str = "int8",
    *,
    arithmetic: str = "tflite",
) -> relax.Call:
    """Quantize rows of real numbers, each by an encoding of its own.

    Source of the arithmetic: LiteRT's SymmetricQuantizeFloats and AsymmetricQuantizeFloats: a
    float32 product with the steps of a unit, rounded half away from zero, plus the zero point,
    clamped. With arithmetic "onnxruntime", QuantizeLinear: a float32 quotient by the scale,
    clamped, then rounded half to even.

    Args:
        data: float32, [..., K]. NaN has no integer and gives the zero point; with arithmetic
            "onnxruntime" the lowest value.
        encoding: float32 [..., 3], of ``dynamic_encoding``; or [3] for the whole tensor.
        out_dtype: int8; or uint8, whose values are larger by 128.
        arithmetic: "tflite" or "onnxruntime".

    Returns:
        A call whose result has the data's shape and ``out_dtype``.

    Raises:
        QnnError: if a dtype or shape does not fit.
    """
    attrs: dict[str, Any] = {"out_dtype": out_dtype}
    if arithmetic != "tflite":
        attrs["arithmetic"] = arithmetic
    return dynamic_quantize.call([data, encoding], **attrs)


@dynamic_quantize.type_rule
def _type(attrs: Attrs, data: TensorSpec, encoding: TensorSpec) -> TensorSpec:
    for name, spec in (("data", data), ("encoding", encoding)):
        check_dtype(name, spec.dtype, ("float32",))
    check_dtype("out_dtype", attrs.out_dtype, QUANTIZED)
    check_arithmetic(attrs)
    if encoding.shape not in ((FIELDS,), (*data.shape[:-1], FIELDS)):
        raise QnnError(f"an encoding of shape {encoding.shape} for data of shape {data.shape}")
    return TensorSpec(data.shape, attrs.out_dtype)


dynamic_quantize.overflow_rule(cannot_overflow)


@dynamic_quantize.reference
def _reference(attrs: Attrs, data: Array, encoding: Array) -> Array:
    if is_onnxruntime(attrs):
        scale, point = encoding[..., :1], encoding[..., 2:3]
        values = quantize_onnxruntime(data, scale, point, "int8").astype(np.int64)
        return np.asarray(values + OFFSETS[attrs.out_dtype], attrs.out_dtype)
    with np.errstate(all="ignore"):
        steps = np.nan_to_num(round_half_away(data * encoding[..., 1:2]))
    steps = np.clip(steps, np.float32(-LARGEST_STEPS), np.float32(LARGEST_STEPS))
    values = np.clip(steps + encoding[..., 2:3], -128, 127)
    return (values + OFFSETS[attrs.out_dtype]).astype(attrs.out_dtype)
