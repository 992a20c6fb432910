"""The constants of a convolution, and the way to compute it, on any processor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tvm import tirx

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Array


@dataclass(frozen=True, eq=False)
class Columns:
    """The constants of each output channel that turn sums into float32.

    Attributes:
        scale: float32; its product with the row's scale is the real value of a step.
        points: int32, what each step of the row's zero point adds to a sum; None if the sum does
            not depend on it.
        bias: float32, if there is one.
    """

    scale: Array
    points: Array | None = None
    bias: Array | None = None


@dataclass(frozen=True, eq=False)
class Weights:
    """The constants of a convolution.

    Attributes:
        kernel: ``spec.kernel_dtype``, OHWI; HWC for a depthwise convolution.
        zero_point: the kernel's.
        bias: int32 [out_channels]; absent means zeros.
        multiplier: [out_channels] or one for all, not negative: int32 from ``quantize_multiplier``,
            or the real multiplier for a rounding of floats. Not used for ``int32`` outputs.
        shift: int32 [out_channels] or one for all, -31 to 31 (30 for ``upward`` rounding),
            positive to the left. Not used if the multiplier is real.
        columns: for ``float32`` outputs.
    """

    kernel: Array
    zero_point: int = 0
    bias: Array | None = None
    multiplier: Array | float = 0
    shift: Array | int = 0
    columns: Columns | None = None

    @property
    def centred(self) -> Array:
        """The weights less their zero point, int16."""
        return self.kernel.astype(np.int16) - np.int16(self.zero_point)

    def of(self, channels: slice) -> Weights:
        """Return the constants of some output channels of a convolution of integers."""

        def some(values: Any) -> Any:
            if values is None or np.size(values) == 1:
                return values
            return np.reshape(values, -1)[channels]

        own = (some(each) for each in (self.bias, self.multiplier, self.shift))
        return Weights(self.kernel[channels], self.zero_point, *own)


@dataclass(frozen=True, eq=False)
class Ready:
    """A convolution as one way computes it.

    Attributes:
        spec: the convolution, with the dtype of its staged data.
        constants: zero points folded into the bias, and all arrays as the function takes them.
        build: builds a function of the data, ``spec.staged_dtype`` of ``spec.staged_shape``; the
            constants; the added tensor or the encodings, if any; and the output,
            ``spec.stored.dtype`` of ``spec.target_shape``.
        rest: the functions that write further channels of the same output.
    """

    spec: ConvSpec
    constants: tuple[Array, ...]
    build: partial[tirx.PrimFunc]
    rest: tuple[Ready, ...] = ()


Planner = Callable[[ConvSpec, Weights], "Ready | None"]
"""Plans a convolution; returns None if it cannot."""
