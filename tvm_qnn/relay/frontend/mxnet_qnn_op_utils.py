"""``relay.frontend.mxnet_qnn_op_utils``: quantization with MXNet's calibrated ranges.

A range of real numbers, from ``min`` to ``max``, is made symmetric around 0. Its larger absolute
end becomes the integer 127.5 of int8 or 255.5 of uint8, and the zero point is 0.
"""

from typing import Any

import numpy as np

from frontends.mxnet.scalars import levels
from qnn_ops.errors import QnnError
from tvm_qnn.relay import qnn
from tvm_qnn.relay.expr import const

_DTYPES = ("int8", "uint8")


def get_mkldnn_int8_scale(range_min: float, range_max: float) -> np.float32:
    """Return the scale of an int8 tensor with a range."""
    return get_mkldnn_requantize_scale_outDtype(range_min, range_max, "int8")


def get_mkldnn_uint8_scale(range_min: float, range_max: float) -> np.float32:
    """Return the scale of a uint8 tensor with a range."""
    return get_mkldnn_requantize_scale_outDtype(range_min, range_max, "uint8")


def get_mkldnn_requantize_scale_outDtype(
    min_output_range: float, max_output_range: float, out_dtype: str
) -> np.float32:
    """Return the scale of a tensor with a range: the float32 reciprocal of the steps in a unit."""
    end = _end(min_output_range, max_output_range)
    return np.float32(1 / (np.float32(levels(out_dtype)) / end))


def get_conv_mkldnn_requantized_scale_outDtype(
    min_output_range: float, max_output_range: float
) -> tuple[np.float32, str]:
    """Return scale and dtype of a convolution's output: uint8 if no number is negative."""
    dtype = "uint8" if min_output_range >= 0 else "int8"
    return get_mkldnn_requantize_scale_outDtype(min_output_range, max_output_range, dtype), dtype


def quantize_mxnet_min_max(
    data: Any, min_range: float, max_range: float, out_dtype: str = "int8"
) -> tuple[Any, np.float32, int]:
    """Quantize a float32 tensor; returns the integers, their scale and their zero point.

    Raises:
        QnnError: if ``out_dtype`` is neither int8 nor uint8.
    """
    _check(out_dtype)
    scale = get_mkldnn_requantize_scale_outDtype(min_range, max_range, out_dtype)
    return qnn.quantize(data, const(scale), const(0), out_dtype=out_dtype), scale, 0


def dequantize_mxnet_min_max(
    data: Any, min_range: float, max_range: float, in_dtype: str = "int8"
) -> Any:
    """Return the real numbers of an int8 or uint8 tensor, in float32.

    Raises:
        QnnError: if ``in_dtype`` is neither int8 nor uint8.
    """
    _check(in_dtype)
    scale = _end(min_range, max_range) / np.float32(levels(in_dtype))
    return qnn.dequantize(data, const(scale), const(0))


def quantize_conv_bias_mkldnn_from_var(bias_var: Any, bias_scale: Any) -> Any:
    """Quantize a bias to int32, with one scale or one for each channel."""
    return qnn.quantize(bias_var, const(bias_scale), const(0), axis=0, out_dtype="int32")


def _end(least: float, most: float) -> np.float32:
    """Return the larger absolute end of a range."""
    return max(abs(np.float32(least)), abs(np.float32(most)))


def _check(dtype: str) -> None:
    if dtype not in _DTYPES:
        raise QnnError(f"MXNet's ranges are of int8 or uint8, got {dtype!r}")
