"""Operators with a negative or infinite scale, as LiteRT computes them.

Sums of products of a layer are scaled by one number for each channel: input's scale times weights'
scale by output's scale. Where that is negative, its opposite and the opposite weights and bias give
the same products. Where it is no finite number, QuantizeMultiplier of LiteRT makes 0 of it, and so
do weights and biases of 0. Elsewhere bytes of a negative scale are other bytes of the opposite one:
s(q - z) is -s(~q - ~z).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, Operand
from frontends.tflite.converters.plain import EIGHT_BITS
from frontends.tflite.model import Tensor
from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError

_R = TypeVar("_R")

LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
COMPLEMENTED = ("DEQUANTIZE", "LOGISTIC", "MEAN", "MUL", "QUANTIZE", "TANH")
"""Operators that read of an operand nothing but the product of its scale and its distance from the
zero point."""

_WEIGHTS, _BIAS = 1, 2
_KEEP_THEIR_BOUNDS = ("NONE", "RELU")


def with_positive_scales(rule: Callable[[Context], _R]) -> Callable[[Context], _R]:
    """Return the rule for layers some of whose scales are no positive numbers."""
    return lambda ctx: rule(_PositiveContext(ctx.model, ctx.operator, ctx.builder, ctx.values))


def is_complemented(tensor: Tensor) -> bool:
    """Tell whether a tensor is of bytes, and of a negative scale."""
    known = tensor.quantization
    is_one = known is not None and not known.is_per_channel and tensor.dtype in EIGHT_BITS
    return is_one and known is not None and bool(-np.inf < known.scale[0] < 0)


def with_complements(rule: Callable[[Context], _R]) -> Callable[[Context], _R]:
    """Return the rule for operands of negative scales."""
    return lambda ctx: rule(_ComplementContext(ctx.model, ctx.operator, ctx.builder, ctx.values))


class _ComplementContext(Context):
    def tensor(self, position: int) -> Tensor:
        tensor = super().tensor(position)
        known = tensor.quantization
        if known is None or not is_complemented(tensor):
            return tensor
        ends = np.iinfo(tensor.dtype)
        point = ends.min + ends.max - known.zero_point
        return replace(tensor, quantization=replace(known, scale=-known.scale, zero_point=point))

    def operand(self, tensor: Tensor) -> Operand:
        operand = super().operand(tensor)
        if not is_complemented(self.model.tensors[tensor.index]):
            return operand
        return Operand(tensor, self.builder.emit(R.bitwise_not(operand.expr)))


def _positive(known: Quantization) -> Quantization:
    scale = np.where(np.isinf(known.scale), np.float32(1), np.abs(known.scale))
    return replace(known, scale=scale)


def _scale(tensor: Tensor) -> np.float64:
    return np.float64(1.0 if tensor.quantization is None else tensor.quantization.scale[0])


class _PositiveContext(Context):
    def tensor(self, position: int) -> Tensor:
        tensor = super().tensor(position)
        if position in (_WEIGHTS, _BIAS) and tensor.data is not None:
            tensor = replace(tensor, data=self._turned(tensor, position))
        known = tensor.quantization
        return tensor if known is None else replace(tensor, quantization=_positive(known))

    def output(self, position: int = 0) -> Tensor:
        tensor = super().output(position)
        known = tensor.quantization
        activation = getattr(self.operator.options, "activation", "NONE")
        if known is not None and known.scale[0] < 0 and activation not in _KEEP_THEIR_BOUNDS:
            raise QnnError(f"{activation} of {tensor.label} of the scale {known.scale[0]}")
        return tensor if known is None else replace(tensor, quantization=_positive(known))

    def operand(self, tensor: Tensor) -> Operand:
        if tensor.index not in self.operator.inputs[_WEIGHTS:] or tensor.data is None:
            return super().operand(tensor)
        return Operand(tensor, self.values.add_constant(tensor, "_turned", tensor.data))

    def _turned(self, tensor: Tensor, position: int) -> Array:
        """Return weights or biases times the sign of their channel's scale."""
        weights = super().tensor(_WEIGHTS).quantization
        if weights is None:
            raise QnnError(f"{tensor.label} has no scale")
        inner, outer = (_scale(each) for each in (super().tensor(0), super().output()))
        products = inner * weights.scale.astype(np.float64)
        scale = products * outer
        if self.operator.code == "FULLY_CONNECTED" and not np.isfinite(products).all():
            raise UnsupportedError(f"{tensor.label} and data of scales whose product is infinite")
        sign = np.where(np.isfinite(scale), np.sign(scale), 0).astype(np.int64)
        point = 0
        if position == _WEIGHTS:
            point = int(weights.zero_point[0])
            shape = [1] * len(tensor.shape)
            shape[weights.axis] = sign.size
            sign = sign.reshape(shape)
        turned = point + sign * (np.asarray(tensor.data, np.int64) - point)
        limits = np.iinfo(tensor.dtype)
        if turned.size and (turned.min() < limits.min or turned.max() > limits.max):
            raise QnnError(f"{tensor.label} has {limits.min} in a channel of a negative scale")
        return turned.astype(tensor.dtype)
