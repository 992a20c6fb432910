"""Tensors of 8 or 16 bits of which the file states no scale: integers that mean themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from frontends.tflite.converters.context import Context
from frontends.tflite.model import Operator, Tensor
from frontends.tflite.quantization import Quantization

EIGHT_BITS = ("int8", "uint8")
_BITS = (*EIGHT_BITS, "int16")

# What they compute is the same for every scale, if there is only one.
_FOR_EVERY_SCALE = (
    *("AVERAGE_POOL_2D", "MAX_POOL_2D", "CONCATENATION", "PAD", "PADV2"),
    *("MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN", "ABS", "NEG"),
    *("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
)
_UNIT = Quantization.per_tensor(1.0, 0)


def are_plain(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Tell whether an operator needs no scale, and none of its tensors has one."""
    return (
        operator.code in _FOR_EVERY_SCALE
        and getattr(operator.options, "activation", "NONE") == "NONE"
        and all(tensor.quantization is None for tensor in tensors)
    )


def with_unit_scale(rule: Callable[[Context], Any]) -> Callable[[Context], Any]:
    """Return the rule for tensors without a scale; LiteRT pads them with 0."""
    return lambda ctx: rule(_PlainContext(ctx.model, ctx.operator, ctx.builder, ctx.values))


class _PlainContext(Context):
    def tensor(self, position: int) -> Tensor:
        return _with_unit(super().tensor(position))

    def output(self, position: int = 0) -> Tensor:
        return _with_unit(super().output(position))


def _with_unit(tensor: Tensor) -> Tensor:
    return replace(tensor, quantization=_UNIT) if tensor.dtype in _BITS else tensor
