"""Tensors of 8 or 16 bits with no scale in the file, or several where one is read.

Where LiteRT reads no scale, they are integers that mean themselves. Where it does, it reads 0: a
multiplier of such scales is 0, be it a product with 0 or a quotient by it, and what is multiplied
becomes the result's zero point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.model import Operator, Tensor
from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError

_R = TypeVar("_R")

EIGHT_BITS = ("int8", "uint8")
ENCODED = (*EIGHT_BITS, "int16")
"""Types whose tensors mostly have a scale."""

# What they compute is the same for every scale, if there is only one.
_FOR_EVERY_SCALE = (
    *("AVERAGE_POOL_2D", "MAX_POOL_2D", "CONCATENATION", "PAD", "PADV2"),
    *("MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN", "ABS", "NEG"),
    *("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
)
_UNIT = Quantization.per_tensor(1.0, 0)
# Of numbers that are 0 to every function, and whose quotients by a scale are, too.
_LEAST = Quantization.per_tensor(2.0**-100, 0)


def are_plain(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Tell whether an operator needs no scale, and its tensors have none, or all a strange one."""
    if operator.code not in _FOR_EVERY_SCALE:
        return False
    known = [each.quantization for each in tensors if each.dtype in ENCODED]
    scales = {None if each is None else float(each.scale[0]) for each in known}
    return (
        getattr(operator.options, "activation", "NONE") == "NONE"
        and len(scales) == 1
        and (scales == {None} or any(map(is_signed, tensors)))
    )


def is_signed(tensor: Tensor) -> bool:
    """Tell whether a tensor has a scale that is negative or infinite."""
    known = tensor.quantization
    return known is not None and bool((np.isinf(known.scale) | (known.scale < 0)).any())


def lacks_scale(tensor: Tensor) -> bool:
    """Tell whether a tensor has no scale, though its type mostly has one."""
    return tensor.dtype in ENCODED and tensor.quantization is None


def lacks_one_scale(tensor: Tensor) -> bool:
    """Tell whether LiteRT reads 0 for a tensor's scale: it has none, or one for each channel."""
    known = tensor.quantization
    return tensor.dtype in ENCODED and (known is None or known.is_per_channel)


def check_one_scale(tensors: Sequence[Tensor]) -> None:
    """Raise if LiteRT reads 0 for a tensor's scale."""
    check_quantized(tensors)
    for tensor in filter(lacks_one_scale, tensors):
        per_tensor(tensor)


def check_quantized(tensors: Sequence[Tensor]) -> None:
    """Raise if a tensor lacks a scale."""
    for tensor in tensors:
        if lacks_scale(tensor):
            raise QnnError(
                f"{tensor.label} is {tensor.dtype} but the file states no scale and zero point"
            )


def zero_points(result: Tensor, shape: Sequence[int]) -> relax.Expr:
    """Return a tensor that is all zero point of a result; without a scale that is 0."""
    point = 0 if lacks_one_scale(result) else per_tensor(result)[1]
    return R.full(shape, relax.const(point, result.dtype), result.dtype)


def with_unit_scale(rule: Callable[[Context], _R]) -> Callable[[Context], _R]:
    """Return the rule for tensors without a scale; LiteRT pads them with 0."""
    return lambda ctx: rule(_PlainContext(ctx.model, ctx.operator, ctx.builder, ctx.values))


def with_least_scale(rule: Callable[[Context], _R]) -> Callable[[Context], _R]:
    """Return the rule for tensors; those without a scale stand for 0."""
    return lambda ctx: rule(_ZeroContext(ctx.model, ctx.operator, ctx.builder, ctx.values))


class _PlainContext(Context):
    encoding = _UNIT

    def tensor(self, position: int) -> Tensor:
        return self._with(super().tensor(position))

    def output(self, position: int = 0) -> Tensor:
        return self._with(super().output(position))

    def _with(self, tensor: Tensor) -> Tensor:
        known = tensor.quantization
        if known is not None and is_signed(tensor):
            return replace(tensor, quantization=replace(known, scale=np.ones_like(known.scale)))
        return replace(tensor, quantization=self.encoding) if lacks_one_scale(tensor) else tensor


class _ZeroContext(_PlainContext):
    encoding = _LEAST
