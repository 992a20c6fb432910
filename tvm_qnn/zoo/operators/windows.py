"""The shapes of what slides windows over pictures."""

from __future__ import annotations

from tvm_qnn.zoo.file import Shape
from tvm_qnn.zoo.float_ops import output_extent


def window_shape(
    x: Shape, kernel: tuple[int, int], stride: int, padding: str, channels: int
) -> Shape:
    """Return the shape [N, height, width, channels] of the windows' results."""
    batch, height, width, _ = x
    return (
        batch,
        output_extent(height, kernel[0], stride, padding),
        output_extent(width, kernel[1], stride, padding),
        channels,
    )
