"""Adding another quantized tensor to outputs that are still in registers."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.spec import ConvSpec, Residual
from legalize.kernels.vectors import lanes_in


def add_residual(spec: ConvSpec, residual: Residual, output: Any, tensor: Any) -> Any:
    """Build the expression of the sums of one vector.

    Args:
        spec: The convolution.
        residual: What is added to it.
        output: int32 vector, the convolution's outputs before their clamp.
        tensor: int32 vector, the tensor's values.

    Returns:
        The sums before their clamp, int32.
    """
    lanes = lanes_in(output)

    def splat(value: int) -> Any:
        return T.broadcast(T.int32(value), lanes)

    clamped = T.max(T.min(output, splat(spec.out_max)), splat(spec.out_min))
    total = clamped * splat(residual.own) + splat(residual.addend)
    total = total + tensor * splat(residual.other)
    if residual.below:
        is_below = total < splat(residual.zero)
        total = total + T.Select(is_below, splat(residual.below), splat(0))
    scaled = T.shift_right(total, splat(residual.shift))
    return scaled + splat(residual.offset) if residual.offset else scaled
