"""Scales and zero points that a run computes from the data, and quantization with them."""

import numpy as np

from qnn_ops.arithmetic.fixed_point import is_number, round_half_away
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME, fields_onnxruntime
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import LITERT, QUANTIZED
from qnn_ops.dialect.checks import check_dtype
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED, Channels, Traits, moving
from qnn_ops.errors import QnnError

FIELDS = 3
"""The numbers that encode a row: its scale, the steps of a unit, its zero point."""

SCALE_FIELD, POINT_FIELD = 0, 2
"""The indices of the scale and the zero point among these numbers."""


@operator(traits=FIXED, overflows=False)
def dynamic_encoding(
    data: declared.Floats,
    asymmetric: declared.Flag,
    *,
    arithmetic: declared.Arithmetic = "tflite",
    whole: declared.ImpliedFlag = False,
) -> None:
    """Choose a scale and a zero point for each row of real numbers, to make it int8.

    Source of the arithmetic: LiteRT's SymmetricQuantizeFloats and AsymmetricQuantizeFloats, which
    its hybrid operators call. Symmetric: the scale is max|x| / 127, a unit is 127 / max|x| steps,
    both in float32. Asymmetric: the range goes from min(x, 0) to max(x, 0), and its length is a
    float32. A 255th of it, in float64, gives the zero point, by the end of the range with the
    smaller error, rounded half away from zero. The scale is this 255th as a float32; its reciprocal
    is the steps of a unit. A row of zeros has the scale 1 and the zero point 0.

    Arithmetic "onnxruntime" is that of DynamicQuantizeLinear: the 255th is a float32. The lower end
    gives the zero point, rounded half to even; less 128, because DynamicQuantizeLinear gives uint8.

    Args:
        data: float32, [..., K]: at least one axis, of at least one element. NaNs are ignored; a row
            with an infinite range has the zero point 0.
        asymmetric: whether zero points may differ from 0.
        arithmetic: "tflite" or "onnxruntime"; the latter is asymmetric.
        whole: whether the whole tensor is one row.

    Returns:
        A call whose result is float32 [..., 3], or [3] for a whole tensor: for each row its scale,
        the steps of a unit, and its zero point, a whole number.
    """


@dynamic_encoding.type_rule
def _dynamic_encoding_type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    if 0 in data.shape[-1:] or (not data.shape and not attrs.whole):
        raise QnnError(f"data must have rows of at least 1 element, got shape {data.shape}")
    if 0 in data.shape and attrs.whole:
        raise QnnError(f"data must have elements, got shape {data.shape}")
    if attrs.arithmetic == ONNXRUNTIME and not attrs.asymmetric:
        raise QnnError("arithmetic 'onnxruntime' has zero points")
    return TensorSpec((FIELDS,) if attrs.whole else (*data.shape[:-1], FIELDS), "float32")


@dynamic_encoding.reference
def _dynamic_encoding_reference(attrs: Attrs, data: Array) -> Array:
    rows, zero = np.where(is_number(data), data, np.float32(0)), np.float32(0)
    rows = rows.reshape(-1) if attrs.whole else rows
    with np.errstate(all="ignore"):
        if not attrs.asymmetric:
            return np.concatenate(_symmetric(rows), -1)
        low, high = rows.min(-1, keepdims=True), rows.max(-1, keepdims=True)
        ends = np.minimum(low, zero), np.maximum(high, zero)
        return np.concatenate(_FIELDS[attrs.arithmetic](*ends), -1)


dynamic_encoding.computed_by(ONNXRUNTIME, _dynamic_encoding_reference)


def _symmetric(data: Array) -> list[Array]:
    size = np.abs(data).max(-1, keepdims=True)
    is_zero, one, most = size == 0, np.float32(1), np.float32(127)
    scale = np.where(is_zero, one, size / most)
    steps = np.where(is_zero, one, most / np.where(is_zero, one, size))
    return [scale, steps, np.zeros_like(size)]


def _asymmetric(low: Array, high: Array) -> list[Array]:
    length = high - low
    exact = np.where(length == 0, 1.0, length.astype(np.float64) / 255.0)
    below, above = low.astype(np.float64) / exact, high.astype(np.float64) / exact
    # Neither is positive here, or negative there.
    takes_low = 128.0 - below < 127.0 + above
    point = np.clip(np.where(takes_low, -128.0 - below, 127.0 - above), -128.0, 127.0)
    scale, whole = exact.astype(np.float32), round_half_away(point).astype(np.float32)
    has_point = (length > 0) & (length <= _MOST)
    return [scale, np.float32(1) / scale, np.where(has_point, whole, np.float32(0))]


_FIELDS = {LITERT: _asymmetric, ONNXRUNTIME: fields_onnxruntime}

_MOST = np.finfo(np.float32).max

LARGEST_STEPS = 512.0
"""Larger numbers are outside every range. Up to this one, sums are exact."""

OFFSETS = {"int8": 0, "uint8": 128}
"""The number that each dtype adds to the values."""


@operator(
    traits=Traits(zero_points={}, moved=moving(), keeps=None, clamps=False, channels=Channels.LAST),
    overflows=False,
)
def dynamic_quantize(
    data: declared.Floats,
    encoding: declared.Floats,
    out_dtype: declared.Text = "int8",
    *,
    arithmetic: declared.Arithmetic = "tflite",
) -> None:
    """Quantize rows of real numbers, each by its own encoding.

    Source of the arithmetic: LiteRT's SymmetricQuantizeFloats and AsymmetricQuantizeFloats: a
    float32 product with the steps of a unit, rounded half away from zero, plus the zero point,
    clamped. Arithmetic "onnxruntime" is that of QuantizeLinear: a float32 quotient by the scale,
    clamped, then rounded half to even.

    Args:
        data: float32, [..., K]. NaN has no integer and gives the zero point; with arithmetic
            "onnxruntime" the lowest value.
        encoding: float32 [..., 3], of ``dynamic_encoding``; or [3] for the whole tensor.
        out_dtype: int8; or uint8, whose values are larger by 128.
        arithmetic: "tflite" or "onnxruntime".

    Returns:
        A call whose result has the data's shape and ``out_dtype``.
    """


@dynamic_quantize.type_rule
def _dynamic_quantize_type(attrs: Attrs, data: TensorSpec, encoding: TensorSpec) -> TensorSpec:
    check_dtype("out_dtype", attrs.out_dtype, QUANTIZED)
    if encoding.shape not in ((FIELDS,), (*data.shape[:-1], FIELDS)):
        raise QnnError(f"an encoding of shape {encoding.shape} for data of shape {data.shape}")
    return TensorSpec(data.shape, attrs.out_dtype)


@dynamic_quantize.reference
def _dynamic_quantize_reference(attrs: Attrs, data: Array, encoding: Array) -> Array:
    points, offset = encoding[..., 2:3], OFFSETS[attrs.out_dtype]
    with np.errstate(all="ignore"):
        steps = data * encoding[..., 1:2]
    steps = np.where(is_number(steps), steps, np.float32(0))
    whole = round_half_away(np.clip(steps, -LARGEST_STEPS, LARGEST_STEPS))
    values = np.clip(whole + points, -128.0, 127.0)
    return (values.astype(np.int32) + offset).astype(attrs.out_dtype)


def _dynamic_quantize_onnxruntime(attrs: Attrs, data: Array, encoding: Array) -> Array:
    points, offset = encoding[..., 2:3], OFFSETS[attrs.out_dtype]
    low, high = np.float32(-128) - points, np.float32(127) - points
    with np.errstate(all="ignore"):
        steps = data / encoding[..., 0:1]
    bounded = np.clip(np.where(is_number(steps), steps, low), low, high)
    return ((np.rint(bounded) + points).astype(np.int32) + offset).astype(attrs.out_dtype)


dynamic_quantize.computed_by(ONNXRUNTIME, _dynamic_quantize_onnxruntime)
