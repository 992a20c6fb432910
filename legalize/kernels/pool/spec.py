"""The shape and arithmetic of a pooling."""

from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Index, kept
from qnn_ops.dialect.attributes import bounds
from qnn_ops.dialect.registry import Attrs, TensorSpec


@dataclass(frozen=True)
class PoolSpec:
    """One pooling.

    Attributes:
        in_shape: [N, H, W, C].
        out_shape: [N, H, W, C].
        dtype: int8 or uint8.
        pool_type: ``max`` or ``avg``.
        window: height and width in pixels.
        strides: down and across.
        padding: at the top and at the left, in pixels.
        bounds: the lowest and highest output.
        origin: the value that an average's ties round away from, or relative to which they round
            to even.
        rounding: ``half_away`` or ``half_even``.
        count_include_pad: whether padding counts as pixels that hold the origin.
    """

    in_shape: tuple[int, int, int, int]
    out_shape: tuple[int, int, int, int]
    dtype: str
    pool_type: str
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int]
    bounds: tuple[int, int]
    origin: int
    rounding: str = "half_away"
    count_include_pad: bool = False

    def span(self, number: Index, axis: int, size: Index) -> tuple[Index, Index]:
        """Write a window's first pixel along an axis, and the number of pixels that it covers.

        Args:
            number: the window's number along the axis.
            axis: 0 or 1, down or across.
            size: the image's size along the axis.
        """
        window = self.window[axis]
        start = number * self.strides[axis] - self.padding[axis]
        if self.is_inside(axis):
            return start, window
        first = kept(T.max(start, 0))
        return first, kept(T.min(start + window, size) - first)

    def is_inside(self, axis: int) -> bool:
        """Tell whether no window reaches the padding along an axis, 0 or 1."""
        reach = (self.out_shape[1 + axis] - 1) * self.strides[axis] + self.window[axis]
        return self.padding[axis] == 0 and reach <= self.in_shape[1 + axis]


def pool_spec(attrs: Attrs, data: TensorSpec, out_shape: tuple[int, int, int, int]) -> PoolSpec:
    """Describe a pooling of the dialect."""
    batch, height, width, channels = data.shape
    return PoolSpec(
        in_shape=(batch, height, width, channels),
        out_shape=out_shape,
        dtype=data.dtype,
        pool_type=attrs.pool_type,
        window=attrs.pool_size,
        strides=attrs.strides,
        padding=attrs.padding[:2],
        bounds=bounds(attrs, data.dtype),
        origin=attrs.origin,
        rounding=attrs.rounding,
        count_include_pad=attrs.count_include_pad,
    )
