"""Scales and zero points: the requirements of operators, and LiteRT's use of unusual ones.

A tensor of 8 or 16 bits may have no scale in the file, or several although one is read. If LiteRT
reads no scale, it computes with the plain integers. If it reads one, it reads 0. The multiplier of
such scales is 0, as a product and as a quotient, and every result becomes the zero point.

A scale may be negative or infinite. A layer scales its sums by one number for each channel: the
input's scale times the weights' scale divided by the output's scale. If this number is negative,
its opposite and the opposite weights and bias give the same products. If it is not finite, LiteRT's
QuantizeMultiplier turns it into 0; weights and biases of 0 have the same effect. In other
operators, bytes of a negative scale are other bytes of the opposite scale: s(q - z) is -s(~q - ~z).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, per_tensor, seen_in
from frontends.tflite.model import Operator, Tensor
from frontends.tflite.operators import Row, Rule
from frontends.tflite.quantization import Quantization
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError

EIGHT_BITS = ("int8", "uint8")
ENCODED = (*EIGHT_BITS, "int16")
"""Types whose tensors usually have a scale."""

_UNIT = Quantization.per_tensor(1.0, 0)
# Every function reads its numbers as 0, and their quotients by a scale, too.
_LEAST = Quantization.per_tensor(2.0**-100, 0)
_WEIGHTS, _BIAS = 1, 2
_KEEP_THEIR_BOUNDS = ("NONE", "RELU")


def check_same_dtype(data: Tensor, result: Tensor) -> None:
    """Raise unless two tensors have the same dtype, as their operator needs."""
    if data.dtype != result.dtype:
        raise QnnError(f"{data.label} is {data.dtype}, {result.label} is {result.dtype}")


def check_same_quantization(data: Tensor, result: Tensor) -> None:
    """Raise unless two tensors have the same scale and zero point, as their operator needs."""
    check_same_dtype(data, result)
    given, wanted = per_tensor(data), per_tensor(result)
    if given != wanted:
        raise QnnError(
            f"{data.label} and {result.label} must have the same scale and zero point, "
            f"got {given} and {wanted}"
        )


def check_symmetric(*tensors: Tensor) -> None:
    """Raise unless the zero points of all tensors are 0, as operators on int16 require."""
    for tensor in tensors:
        if per_tensor(tensor)[1] != 0:
            raise QnnError(f"the zero point of {tensor.label} must be 0 for int16")


def check_one_scale(tensors: Sequence[Tensor]) -> None:
    """Raise if LiteRT reads 0 as a tensor's scale."""
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


def check_real(outputs: Sequence[Tensor]) -> None:
    """Raise unless an operator of float32 data and quantized weights gives float32."""
    for tensor in outputs:
        if tensor.dtype != "float32":
            raise UnsupportedError(f"{tensor.dtype} of float32 data and quantized weights")


def are_plain(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Tell whether an operator's tensors have no scale, or all have one unusual scale."""
    known = [each.quantization for each in tensors if each.dtype in ENCODED]
    scales = {None if each is None else float(each.scale[0]) for each in known}
    return (
        operator.options.activation == "NONE"
        and len(scales) == 1
        and (scales == {None} or any(map(is_signed, tensors)))
    )


def is_signed(tensor: Tensor) -> bool:
    """Tell whether a tensor has a scale that is negative or infinite."""
    known = tensor.quantization
    return known is not None and bool((np.isinf(known.scale) | (known.scale < 0)).any())


def is_complemented(tensor: Tensor) -> bool:
    """Tell whether a tensor has bytes and a negative scale."""
    known = tensor.quantization
    is_one = known is not None and not known.is_per_channel and tensor.dtype in EIGHT_BITS
    return is_one and known is not None and bool(-np.inf < known.scale[0] < 0)


def lacks_scale(tensor: Tensor) -> bool:
    """Tell whether a tensor has no scale, although its type usually has one."""
    return tensor.dtype in ENCODED and tensor.quantization is None


def lacks_one_scale(tensor: Tensor) -> bool:
    """Tell whether LiteRT reads 0 as a tensor's scale: it has none, or one for each channel."""
    known = tensor.quantization
    return tensor.dtype in ENCODED and (known is None or known.is_per_channel)


def zero_points(result: Tensor, shape: Sequence[int]) -> relax.Expr:
    """Return a tensor full of the result's zero point, which is 0 without a scale."""
    point = 0 if lacks_one_scale(result) else per_tensor(result)[1]
    return R.full(shape, relax.const(point, result.dtype), result.dtype)


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


def _with_positive(tensor: Tensor) -> Tensor:
    known = tensor.quantization
    if known is None:
        return tensor
    scale = np.where(np.isinf(known.scale), np.float32(1), np.abs(known.scale))
    return replace(tensor, quantization=replace(known, scale=scale))


def _scale(tensor: Tensor) -> np.float64:
    return np.float64(1.0 if tensor.quantization is None else tensor.quantization.scale[0])


class _PositiveContext(Context):
    def tensor(self, position: int) -> Tensor:
        tensor = super().tensor(position)
        if position in (_WEIGHTS, _BIAS) and tensor.data is not None:
            tensor = replace(tensor, data=self._turned(tensor, position))
        return _with_positive(tensor)

    def output(self, position: int = 0) -> Tensor:
        tensor = super().output(position)
        known = tensor.quantization
        activation = self.options.activation
        if known is not None and known.scale[0] < 0 and activation not in _KEEP_THEIR_BOUNDS:
            raise QnnError(f"{activation} of {tensor.label} of the scale {known.scale[0]}")
        return _with_positive(tensor)

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


with_unit_scale = partial(seen_in, _PlainContext)
"""Returns the rule for tensors without a scale; LiteRT pads them with 0."""
with_least_scale = partial(seen_in, _ZeroContext)
"""Returns the rule that reads tensors without a scale as zeros."""
with_positive_scales = partial(seen_in, _PositiveContext)
"""Returns the rule for layers with a scale that is not a positive number."""
with_complements = partial(seen_in, _ComplementContext)
"""Returns the rule for operands of negative scales."""


def scaled_rule(
    row: Row, rule: Rule | None, operator: Operator, tensors: Sequence[Tensor]
) -> Rule | None:
    """Return the rule for tensors of 8 or 16 bits with scales as LiteRT reads them."""
    if rule is None:
        return None
    if row.is_for_every_scale and are_plain(operator, tensors):
        return with_unit_scale(rule)
    if row.unscaled is not None and any(map(lacks_one_scale, tensors)):
        return row.unscaled
    check_quantized(tensors)
    return with_positive_scales(rule) if row.is_layer and any(map(is_signed, tensors)) else rule
