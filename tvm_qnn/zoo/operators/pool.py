"""MAX_POOL_2D and AVERAGE_POOL_2D."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tvm_qnn.zoo import float_ops
from tvm_qnn.zoo.file import Array, Shape
from tvm_qnn.zoo.float_run import FloatRun
from tvm_qnn.zoo.graph import Operator
from tvm_qnn.zoo.operators.windows import window_shape


@dataclass(frozen=True)
class _Pool(Operator):
    """A pooling of [N, H, W, C].

    Attributes:
        size: of the windows, in both directions.
        stride: in both directions.
        padding: "SAME" or "VALID".
    """

    size: int
    stride: int
    padding: str = "VALID"

    same_scale = True
    pool: ClassVar[Callable[..., float_ops.Real]]

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        kernel = (self.size, self.size)
        return [window_shape(shapes[0], kernel, self.stride, self.padding, shapes[0][3])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Pool."""
        return [type(self).pool(arrays[0], self.size, self.stride, self.padding)]

    def options(self) -> dict[str, Any]:
        """Return padding, strides and size."""
        return {
            "padding": self.padding,
            "stride_w": self.stride,
            "stride_h": self.stride,
            "filter_width": self.size,
            "filter_height": self.size,
        }


class MaxPool(_Pool):
    """The largest value of each window."""

    code = "MAX_POOL_2D"
    pool = float_ops.max_pool2d


class AvgPool(_Pool):
    """The mean of each window; taps outside of the picture do not count."""

    code = "AVERAGE_POOL_2D"
    pool = float_ops.avg_pool2d
