"""Checks of quantization that several operators share."""

from __future__ import annotations

from frontends.tflite.converters.context import per_tensor
from frontends.tflite.model import Tensor
from qnn_ops.errors import QnnError


def check_same_dtype(data: Tensor, result: Tensor) -> None:
    """Raise unless two tensors have the same dtype, as their operator needs."""
    if data.dtype != result.dtype:
        raise QnnError(f"{data.label} is {data.dtype}, {result.label} is {result.dtype}")


def check_same_quantization(data: Tensor, result: Tensor) -> None:
    """Raise unless two tensors have the same scale and zero point, as their operator needs."""
    check_same_dtype(data, result)
    (scale, zero_point), (other_scale, other_zero_point) = per_tensor(data), per_tensor(result)
    if (scale, zero_point) != (other_scale, other_zero_point):
        raise QnnError(
            f"{data.label} and {result.label} must have the same scale and zero point, "
            f"got ({scale}, {zero_point}) and ({other_scale}, {other_zero_point})"
        )


def check_symmetric(*tensors: Tensor) -> None:
    """Raise unless the zero points of all tensors are 0, as operators on int16 need them."""
    for tensor in tensors:
        if per_tensor(tensor)[1] != 0:
            raise QnnError(f"the zero point of {tensor.label} must be 0 for int16")
