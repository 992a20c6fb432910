"""The shape and arithmetic of one convolution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.border import Border
from legalize.kernels.ir.vectors import DWORD, Vector, lanes_in, splat
from legalize.kernels.isa.base import AffineForm, FloatForm
from legalize.kernels.kernel import Slice
from qnn_ops.arithmetic.rounding import SUM_ROUNDINGS, Rounding
from qnn_ops.dialect.attributes import bounds, dtype_range
from qnn_ops.dialect.registry import Attrs


@dataclass(frozen=True)
class OutputStage:
    """The outputs that accumulators become.

    Attributes:
        dtype: ``uint8`` or ``int8``; ``int32`` for the accumulator itself; ``float32`` if it is
            scaled by encodings of rows, and then the other attributes have no meaning.
        zero_point: added after rescaling.
        low: lower bound of the output.
        high: upper bound of the output.
        rounding: ``tflite`` (gemmlowp's two roundings), ``upward`` (one rounding) or, in kernels
            that take it, ``float64`` (a float64 product, half away from zero) or ``onednn``
            (float32, half to even).
    """

    dtype: str = "int32"
    zero_point: int = 0
    low: int = -(2**31)
    high: int = 2**31 - 1
    rounding: str = "tflite"

    @classmethod
    def of(cls, attrs: Attrs) -> OutputStage:
        """Describe the outputs of a call.

        A sum of two tensors has no attribute ``rounding``. Its form rounds, and nothing reads the
        default here.
        """
        ends, rounding = bounds(attrs, attrs.out_dtype), getattr(attrs, "rounding", "tflite")
        return cls(attrs.out_dtype, attrs.output_zero_point, *ends, rounding)

    @property
    def rule(self) -> Rounding:
        """The arithmetic of ``rounding``."""
        return SUM_ROUNDINGS[self.rounding]

    @property
    def has_two_floors(self) -> bool:
        """Whether fixed point rounds twice, and the clamp leaves results below the zero point.

        Only such results show that a tie is rounded away from zero.
        """
        return self.rounding == "tflite" and self.low < self.zero_point

    @property
    def fills_lanes(self) -> bool:
        """Whether an output takes as many bytes as its accumulator."""
        return self.dtype in ("int32", "float32")

    def clamped(self, value: Vector) -> Vector:
        """Clamp bytes of the dtype, if that has any effect."""
        lowest, highest = dtype_range(self.dtype)
        if self.low > lowest:
            value = T.max(value, splat(self.dtype, self.low, lanes_in(value)))
        if self.high < highest:
            value = T.min(value, splat(self.dtype, self.high, lanes_in(value)))
        return value


@dataclass(frozen=True)
class Encoding:
    """The encodings of the data's rows, known at run time: see ``qnn_ops.dynamic_encoding``.

    Attributes:
        shape: the tensor's shape; [3] for all rows.
        offset: added to the zero points; None if the sums do not depend on them.
    """

    shape: tuple[int, ...]
    offset: int | None


@dataclass(frozen=True)
class Addend:
    """A tensor of the output's shape that is added before it is rounded.

    Attributes:
        dtype: ``uint8`` or ``int8``.
        zero_point: its value that means 0.
        multiplier: the steps of the output in a step of the tensor; a float32.
        relu_before: whether negative outputs become zero before the tensor is added.
    """

    dtype: str
    zero_point: int
    multiplier: float
    relu_before: bool


@dataclass(frozen=True)
class Residual:
    """A tensor of the output's shape, added to the output after that is rounded and clamped.

    Attributes:
        dtype: the tensor's dtype: ``uint8`` or ``int8``.
        form: the sum or difference of the output's values, ``lhs``, and the tensor's. An affine
            form gives the sum less the lowest value of its dtype. A form of floats is used if the
            rounding is ``float32``.
        output: dtype and bounds of the sum.
    """

    dtype: str
    form: AffineForm | FloatForm
    output: OutputStage


@dataclass(frozen=True)
class Fusion:
    """The operators that a kernel computes in addition to its convolution.

    Attributes:
        addend: a tensor that is added before rounding, for ``onednn`` rounding only.
        residual: a tensor that is added after rounding. Then there is no ``addend``, and the output
            is not ``int32``.
        part: the channels of a larger tensor that the output is written to, if any.
        border: written around the output, or around the larger tensor. There only the kernel of the
            first channels writes it; those of other channels only leave room for it.
        is_shared: whether one function may serve several convolutions: it reads the offsets of its
            outputs, and sizes if it can. Then nothing may compare its tensors' shapes with theirs.
        encoding: turns the sums into float32; then all other attributes are None.
    """

    addend: Addend | None = None
    residual: Residual | None = None
    part: Slice | None = None
    border: Border | None = None
    is_shared: bool = False
    encoding: Encoding | None = None

    @property
    def added_dtype(self) -> str | None:
        """Dtype of the tensor that is added before or after rounding, if there is one."""
        added = self.residual or self.addend
        return None if added is None else added.dtype


UNFUSED = Fusion()
"""No other operators."""


@dataclass(frozen=True)
class ConvSpec:
    """One ungrouped convolution over NHWC data with an OHWI kernel: sizes and arithmetic.

    A dense layer is the convolution whose ``batch`` is the number of rows, whose images
    are 1 by 1 pixels and whose kernel is 1 by 1.

    Its sizes are computed once: the choice of tiles reads each of them thousands of times.

    Attributes:
        batch: number of images.
        in_height: rows of an image.
        in_width: columns of an image.
        in_channels: channels of a pixel.
        kernel_height: rows of the kernel.
        kernel_width: columns of the kernel.
        out_channels: channels of an output pixel.
        strides: down and across.
        padding: pixels added at the top, left, bottom and right.
        dilation: down and across.
        edges: pixels of the data itself, at its top, left, bottom and right, that hold its zero
            point as padding does.
        in_dtype: ``uint8`` or ``int8``.
        input_zero_point: zero point of the data, which the padding holds too.
        kernel_dtype: ``uint8`` or ``int8``.
        has_asymmetric_kernel: whether the kernel's zero point is not the middle of its range (128
            for ``uint8``, 0 for ``int8``).
        staged_dtype: the dtype that the kernel multiplies: ``uint8`` on x86, ``int8`` on ARM, or
            ``int16``, which holds either.
        output: dtype, zero point, bounds and rounding of the outputs.
        fusion: the other operators that its kernel computes.
    """

    batch: int
    in_height: int
    in_width: int
    in_channels: int
    kernel_height: int
    kernel_width: int
    out_channels: int
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    edges: tuple[int, int, int, int] = (0, 0, 0, 0)
    in_dtype: str = "uint8"
    input_zero_point: int = 0
    kernel_dtype: str = "int8"
    has_asymmetric_kernel: bool = False
    staged_dtype: str = "uint8"
    output: OutputStage = OutputStage()
    fusion: Fusion = UNFUSED

    @property
    def in_shape(self) -> tuple[int, int, int, int]:
        """Shape of the data before staging."""
        return self.batch, self.in_height, self.in_width, self.in_channels

    @property
    def out_shape(self) -> tuple[int, int, int, int]:
        """Shape of the output."""
        return self.batch, self.out_height, self.out_width, self.out_channels

    @cached_property
    def out_height(self) -> int:
        """Rows of the output."""
        top, _, bottom, _ = self.padding
        reach = self.dilation[0] * (self.kernel_height - 1) + 1
        return (self.in_height + top + bottom - reach) // self.strides[0] + 1

    @cached_property
    def out_width(self) -> int:
        """Columns of the output."""
        _, left, _, right = self.padding
        reach = self.dilation[1] * (self.kernel_width - 1) + 1
        return (self.in_width + left + right - reach) // self.strides[1] + 1

    @cached_property
    def out_pixels(self) -> int:
        """Pixels of the output, over all images."""
        return self.batch * self.out_height * self.out_width

    @cached_property
    def taps_per_run(self) -> int:
        """Kernel columns whose bytes are adjacent in the data."""
        return self.kernel_width if self.dilation[1] == 1 else 1

    @cached_property
    def runs(self) -> int:
        """Runs of adjacent values that one output pixel reads."""
        return self.kernel_height * self.runs_per_row

    @cached_property
    def runs_per_row(self) -> int:
        """Runs of a row of the kernel."""
        return self.kernel_width // self.taps_per_run

    @property
    def target(self) -> Slice:
        """The output's channels among those of the pixels that are written."""
        return self.fusion.part or Slice(self.out_channels, 0)

    @property
    def target_shape(self) -> tuple[int, int, int, int]:
        """Shape of the tensor that the output is written to."""
        shape = self.batch, self.out_height, self.out_width, self.target.whole
        return shape if self.fusion.border is None else self.fusion.border.around(shape)

    @property
    def stored(self) -> OutputStage:
        """Dtype and bounds of the stored values."""
        return self.output if self.fusion.residual is None else self.fusion.residual.output

    @cached_property
    def pixel_pitch(self) -> int | None:
        """Bytes between the data of consecutive output pixels, if always the same."""
        _, height, width, channels = self.staged_shape
        rows_touch = self.strides[0] == 1 and self.out_width * self.strides[1] == width
        images_touch = self.batch == 1 or self.out_height == height
        return self.strides[1] * channels if rows_touch and images_touch else None

    @cached_property
    def staged_channels(self) -> int:
        """Channels of a staged pixel: more than the data's only if a run is below a K-step."""
        return (
            self.in_channels if self.taps_per_run * self.in_channels >= self.k_step else self.k_step
        )

    @cached_property
    def staged_shape(self) -> tuple[int, int, int, int]:
        """Shape of the data that the convolution reads, padding included."""
        top, left, bottom, right = self.padding
        return (
            self.batch,
            self.in_height + top + bottom,
            self.in_width + left + right,
            self.staged_channels,
        )

    @property
    def staged_zero_point(self) -> int:
        """Zero point of the staged data."""
        if self.staged_dtype in (self.in_dtype, "int16"):
            return self.input_zero_point
        return self.input_zero_point + (128 if self.staged_dtype == "uint8" else -128)

    @property
    def needs_staging(self) -> bool:
        """Whether the data must be copied before the convolution can read it."""
        return self.in_dtype != self.staged_dtype or self.staged_shape != self.in_shape

    @cached_property
    def run_length(self) -> int:
        """Values in a run."""
        return self.taps_per_run * self.staged_channels

    def run_start(self, row: Any, number: Any) -> Any:
        """Return the offset of a run of a row of the kernel from a pixel's first staged value."""
        _, _, width, channels = self.staged_shape
        return (row * self.dilation[0] * width + number * self.dilation[1]) * channels

    @cached_property
    def k_steps_per_run(self) -> int:
        """K-steps, of four bytes or two words each, that cover a run.

        If K-steps do not divide the length, the last one ends where the run ends. Its first values
        were read by the K-step before and meet weights of zero.
        """
        return -(-self.run_length // self.k_step)

    @cached_property
    def k_step(self) -> int:
        """Staged values of a K-step: as many as an int32 lane holds."""
        return 2 if self.staged_dtype == "int16" else DWORD
