"""Random convolutions, and their expected results, for kernels that run in an emulator.

One run of an emulator answers for many of them, so they are drawn from a seed and not by
hypothesis.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from legalize.kernels.conv2d.calls import fixed_point
from legalize.kernels.conv2d.plan import Ready, Weights
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from qnn_ops.arithmetic.rounding import scale_down
from tests.support.definition import accumulators
from tests.support.programs import Case

MIDDLE = {"uint8": 128, "int8": 0}

SPEC = ConvSpec(
    1,
    6,
    7,
    16,
    3,
    3,
    24,
    in_dtype="int8",
    input_zero_point=3,
    staged_dtype="int8",
    output=OutputStage("int8", -5, -128, 127),
)
"""A small convolution, of which tests change single attributes."""


def changed(spec: ConvSpec, **fields: Any) -> ConvSpec:
    """Change fields of a convolution, or of its output stage or its fusion."""
    for name in ("output", "fusion"):
        part = getattr(spec, name)
        own = {field: fields.pop(field) for field in vars(part) if field in fields}
        fields[name] = replace(part, **own)
    return replace(spec, **fields)


@dataclass(frozen=True)
class Problem:
    """A convolution with its arrays and its result.

    Attributes:
        spec: the convolution.
        kernel_zero_point: of the kernel.
        data: ``spec.in_dtype`` of ``spec.in_shape``.
        kernel: OHWI; for a depthwise convolution HWC.
        bias: int32 [out_channels].
        real_multiplier: float64 [out_channels].
    """

    spec: ConvSpec
    kernel_zero_point: int
    data: np.ndarray
    kernel: np.ndarray
    bias: np.ndarray
    real_multiplier: np.ndarray

    @property
    def weights(self) -> Weights:
        """What kernels are made of."""
        scales = fixed_point(self.spec, self.real_multiplier)
        return Weights(self.kernel, self.kernel_zero_point, self.bias, *scales)

    @property
    def result(self) -> np.ndarray:
        """The output by the definition."""
        constants = self.kernel, self.kernel_zero_point, self.bias
        sums = accumulators(self.spec, self.data, *constants)
        return rescaled(self.spec, sums, self.real_multiplier)

    @property
    def staged(self) -> np.ndarray:
        """The data as ``stage`` gives it."""
        spec = self.spec
        top, left, bottom, right = spec.padding
        offset = spec.staged_zero_point - spec.input_zero_point
        return np.pad(
            (self.data.astype(np.int64) + offset).astype(spec.staged_dtype),
            ((0, 0), (top, bottom), (left, right), (0, spec.staged_channels - spec.in_channels)),
            constant_values=spec.staged_zero_point,
        )

    def case(self, plan: Ready, data: np.ndarray | None = None) -> Case:
        """Return the call of a planned function with the data, or with what it is copied to."""
        inputs = [self.data if data is None else data, *plan.constants]
        return Case(plan.build(), inputs, self.spec.out_shape, self.spec.output.dtype)


def check_results(problems: Sequence[Problem], results: Sequence[np.ndarray]) -> None:
    """Assert that results, with their borders, are in the tensors, and nothing beside parts."""
    for problem, result in zip(problems, results, strict=True):
        spec, wanted = problem.spec, problem.result
        if spec.fusion.border is not None:
            top, left, bottom, right = spec.fusion.border.widths
            widths = (0, 0), (top, bottom), (left, right), (0, 0)
            wanted = np.pad(wanted, widths, constant_values=spec.fusion.border.value)
        own = slice(spec.target.first, spec.target.first + spec.out_channels)
        np.testing.assert_array_equal(result[..., own], wanted, err_msg=str(spec))
        rest = np.delete(result, np.r_[own], axis=-1)
        assert np.unique(rest).size <= 1, "written beside the part"


def rescaled(spec: ConvSpec, sums: np.ndarray, real_multiplier: np.ndarray) -> np.ndarray:
    """Turn accumulators into outputs."""
    sums = sums.astype(np.int32)
    if spec.output.dtype == "int32":
        return sums
    bounds = spec.output.low, spec.output.high
    return scale_down(
        sums,
        real_multiplier,
        spec.output.rounding,
        spec.output.zero_point,
        bounds,
        spec.output.dtype,
    )


def problem_of(
    spec: ConvSpec,
    rng: np.random.Generator,
    *,
    how: str = "random",
    kernel_zero_point: int | None = None,
    exponent: float = -9,
    is_depthwise: bool = False,
) -> Problem:
    """Arrays for a convolution.

    Args:
        spec: the convolution.
        rng: the source of random numbers.
        how: data and weights: "random", "ends" (of their range), "min" or "max".
        kernel_zero_point: None for the middle of the range.
        exponent: of two: the size of the multipliers.
        is_depthwise: for a kernel [KH, KW, channels].
    """
    if kernel_zero_point is None:
        kernel_zero_point = MIDDLE[spec.kernel_dtype]
    window = spec.kernel_height, spec.kernel_width
    shape: tuple[int, ...] = (*window, spec.out_channels)
    if not is_depthwise:
        shape = (spec.out_channels, *window, spec.in_channels)
    limit = 0.49 if spec.output.rounding == "upward" else 8.0
    return Problem(
        replace(spec, has_asymmetric_kernel=kernel_zero_point != MIDDLE[spec.kernel_dtype]),
        kernel_zero_point,
        filled(rng, how, spec.in_dtype, spec.in_shape),
        filled(rng, how, spec.kernel_dtype, shape),
        rng.integers(-(1 << 14), 1 << 14, spec.out_channels, dtype=np.int32),
        np.minimum(_multipliers(rng, exponent, spec.out_channels), limit),
    )


def problems_of(specs: Iterable[ConvSpec], **options: Any) -> list[Problem]:
    """Return arrays for several convolutions, as ``problem_of`` draws them."""
    rng = np.random.default_rng(0)
    return [problem_of(spec, rng, **options) for spec in specs]


def _multipliers(rng: np.random.Generator, exponent: float, channels: int) -> np.ndarray:
    """One for all channels, or one each; powers of two, whose products have ties, or not."""
    exponents = exponent + rng.integers(-2, 3, channels)
    factors = rng.uniform(0.5, 1, channels)
    if rng.random() < 0.5:
        exponents, factors = np.full(channels, exponent), np.full(channels, factors[0])
    return 2.0**exponents * (1 if rng.random() < 0.3 else factors)


def filled(rng: np.random.Generator, how: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of all values of a dtype, or of its ends."""
    info = np.iinfo(dtype)
    if how == "random":
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    ends = np.array([info.min, info.max], dtype)
    return ends[rng.integers(0, 2, shape) if how == "ends" else np.full(shape, int(how == "max"))]


def random_problem(
    rng: np.random.Generator, roundings: tuple[str, ...], *, is_depthwise: bool = False
) -> Problem:
    """Any small convolution of int8 or uint8 data for kernels that multiply int8."""

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    def any_of(dtype: str) -> int:
        info = np.iinfo(dtype)
        return int(one_of(info.min, info.max, *rng.integers(info.min, info.max + 1, 4)))

    kernel = one_of(1, 2, 3), one_of(1, 2, 3)
    if is_depthwise and rng.random() < 0.3:
        kernel = one_of(5, 7), one_of(2, 5)
    dilation = one_of(1, 1, 2), one_of(1, 1, 2)
    padding = tuple(int(width) for width in rng.integers(0, 3, 4))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    sizes = [
        max(1, reach[axis] - padding[axis] - padding[axis + 2]) + int(rng.integers(0, 7))
        for axis in range(2)
    ]
    out_dtype = one_of("int8", "int8", "uint8", "int32")
    output_zero_point, bounds = 0, (-(2**31), 2**31 - 1)
    if out_dtype != "int32":
        output_zero_point = any_of(out_dtype)
        bounds = int(np.iinfo(out_dtype).min), int(np.iinfo(out_dtype).max)
        if rng.random() < 0.4:  # a ReLU
            bounds = output_zero_point, bounds[1]
        if rng.random() < 0.3:
            bounds = bounds[0], int(rng.integers(bounds[0], bounds[1] + 1))
    channels = 1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 23, 32, 36, 45, 70
    in_dtype, kernel_dtype = one_of("int8", "uint8"), one_of("int8", "uint8")
    in_channels = one_of(*channels)
    spec = ConvSpec(
        one_of(1, 1, 2),
        sizes[0],
        sizes[1],
        in_channels,
        kernel[0],
        kernel[1],
        in_channels if is_depthwise else one_of(*channels),
        strides=(one_of(1, 1, 2, 3), one_of(1, 1, 2, 3)),
        padding=(padding[0], padding[1], padding[2], padding[3]),
        dilation=dilation,
        in_dtype=in_dtype,
        input_zero_point=any_of(in_dtype),
        kernel_dtype=kernel_dtype,
        staged_dtype="int8",
        output=OutputStage(out_dtype, output_zero_point, bounds[0], bounds[1], one_of(*roundings)),
    )
    return problem_of(
        spec,
        rng,
        how=one_of("random", "random", "ends", "min", "max"),
        kernel_zero_point=None if rng.random() < 0.4 else any_of(kernel_dtype),
        exponent=one_of(-25, -13, -9, -6, -3, -1, 1),
        is_depthwise=is_depthwise,
    )
