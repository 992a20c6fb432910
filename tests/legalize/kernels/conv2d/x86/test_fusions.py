"""Convolutions that add another quantized tensor to their rounded output."""

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, SSE41
from legalize.lower import lower
from qnn_ops import quantized_add, quantized_conv2d, quantized_subtract
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import Operator
from tests.support.arrays import full_range
from tests.support.kernels import X86_PLACES, Place, each_x86_product, only_case
from tests.support.modules import module
from tests.support.programs import Case

CONV: dict[str, Any] = {
    "input_scale": 0.5,
    "input_zero_point": 7,
    "kernel_scale": 0.0078125,
    "kernel_zero_point": 0,
    "output_scale": 2.3,
    "data_layout": "NHWC",
    "kernel_layout": "OHWI",
}
# A difference of a vector's bytes by 128 that got lost would show in each of them.
DTYPES = [("int8", "uint8", "int8"), ("uint8", "int8", "uint8"), ("int8", "int8", "uint8")]


class Problem:
    """A convolution of bytes, one operand of a sum, with its result."""

    def __init__(
        self,
        operator: Operator[Any],
        channels: int,
        dtypes: tuple[str, str, str],
        *,
        is_rhs: bool,
        scale: float = 3.1,
        window: int = 1,
        in_channels: int = 20,
        pixels: tuple[int, int] = (3, 7),
        **changes: Any,
    ) -> None:
        rng = np.random.default_rng(channels)
        own, other, out = dtypes
        size = [extent + window - 1 for extent in pixels]
        self.data = full_range(rng, "uint8", (1, *size, in_channels))
        self.kernel = full_range(rng, "int8", (channels, window, window, in_channels))
        self.tensor = full_range(rng, other, (1, *pixels, channels))
        least = -90 if own == "int8" else 5
        self.conv = {**CONV, "output_zero_point": 3, "out_dtype": own, "out_min": least, **changes}
        self.is_rhs = is_rhs
        sides = {"lhs": (2.3, 3), "rhs": (scale, 11)}
        if is_rhs:
            sides = {"lhs": sides["rhs"], "rhs": sides["lhs"]}
        self.sum: dict[str, Any] = {"output_scale": 3.3, "output_zero_point": 9, "out_dtype": out}
        for side, (step, zero_point) in sides.items():
            self.sum |= {f"{side}_scale": step, f"{side}_zero_point": zero_point}
        self.sum["out_max"] = 101
        self.operator = operator

    def body(self, x: relax.Expr, t: relax.Expr) -> relax.Expr:
        y = quantized_conv2d(x, relax.const(self.kernel), **self.conv)
        return self.operator(*self._operands(y, t), **self.sum)

    def lowered(self, target: Any) -> tvm.IRModule:
        arrays = {"x": self.data, "t": self.tensor}
        types = {key: relax.TensorType(a.shape, a.dtype.name) for key, a in arrays.items()}
        return lower(module(types, self.body), tvm.target.Target(target))

    @property
    def result(self) -> Array:
        y = quantized_conv2d.evaluate(self.data, self.kernel, **self.conv)
        return self.operator.evaluate(*self._operands(y, self.tensor), **self.sum)

    def _operands(self, y: Any, t: Any) -> tuple[Any, Any]:
        return (t, y) if self.is_rhs else (y, t)

    def case(self, target: Any) -> Case:
        """Return the kernel, which must be the only one, with its arguments."""
        return only_case(self.lowered(target), [self.data, self.tensor], self.result)


def check(place: Place, problems: list[Problem]) -> None:
    results = place.run([problem.case(place.target) for problem in problems])
    for problem, result in zip(problems, results, strict=True):
        np.testing.assert_array_equal(result, problem.result)
        assert np.unique(result).size > 20


@each_x86_product
def test_sums_equal_the_references(place: Place) -> None:
    """One run for all, as it may be of an emulator."""
    # A ragged vector, pieces of two and four, and less than a vector.
    shapes = list(zip((37, 64, 5), DTYPES, (False, True, False), strict=True))
    problems = [
        Problem(operator, channels, dtypes, is_rhs=is_rhs)
        for operator in (quantized_add, quantized_subtract)
        for channels, dtypes, is_rhs in shapes
    ]
    # Scales that are powers of two have sums that lie in the middle of two results.
    ties = Problem(quantized_add, 33, DTYPES[0], is_rhs=True, scale=1.0, output_scale=2.0)
    ties.sum |= {"rhs_scale": 2.0, "output_scale": 4.0}
    others = [
        Problem(quantized_add, 24, DTYPES[2], is_rhs=False, rounding=rounding)
        for rounding in ("upward", "float64")
    ]
    check(place, [*problems, ties, *others])


def in_float32(*arguments: Any, model_dtype: str, is_rhs: bool, **changes: Any) -> Problem:
    """A sum as ONNX Runtime's."""
    problem = Problem(quantized_add, *arguments, is_rhs=is_rhs, rounding="float32", **changes)
    problem.sum |= {"arithmetic": "onnxruntime", "model_dtype": model_dtype}
    return problem


@each_x86_product
def test_sums_in_float32_equal_the_references(place: Place) -> None:
    shapes = list(zip((37, 64, 5), DTYPES, (False, True, False), strict=True))
    problems = [
        in_float32(channels, dtypes, model_dtype=model_dtype, is_rhs=is_rhs, **changes)
        for channels, dtypes, is_rhs in shapes
        for model_dtype in ("int8", "uint8")
        # The second ones have sums in the middle of two results.
        for changes in ({}, {"scale": 1.0, "output_scale": 2.0})
    ]
    for problem in problems[1::2]:
        for side in ("lhs", "rhs"):
            problem.sum[f"{side}_scale"] = 2.0 if side == "rhs" else 1.0
        problem.sum["output_scale"] = 4.0
    if place.name == "sse4.1":
        # Without a product and sum of one rounding, those are left that no integers follow.
        fused = {"main", "z_conv2d"}
        lowered = [problem.lowered(place.target).get_global_vars() for problem in problems]
        names = [{each.name_hint for each in variables} for variables in lowered]
        problems = [
            problem for problem, found in zip(problems, names, strict=True) if found == fused
        ]
        assert len(problems) >= 6
    check(place, problems)


@pytest.mark.parametrize("isa", [AVX512_VNNI, AVX512BW, AVX2, SSE41], ids=lambda isa: isa.name)
def test_the_sum_has_no_kernel_of_its_own(isa: Any) -> None:
    place = next(place for place in X86_PLACES if place.name == isa.name)
    mod = Problem(quantized_add, 24, DTYPES[0], is_rhs=False).lowered(place.target)
    names = {variable.name_hint for variable in mod.get_global_vars()}
    assert names == {"main", "z_conv2d"}


@pytest.mark.parametrize(
    "changes", [{"rounding": "onednn"}, {"rounding": "float32"}, {"kernel_zero_point": [0, 1] * 12}]
)
def test_what_no_kernel_does_stays_two_steps(changes: dict[str, Any]) -> None:
    target = X86_PLACES[0].target
    mod = Problem(quantized_add, 24, DTYPES[0], is_rhs=False, **changes).lowered(target)
    assert any(variable.name_hint.startswith("add") for variable in mod.get_global_vars())


def test_a_tensor_that_broadcasts_is_added_afterwards() -> None:
    problem = Problem(quantized_add, 24, DTYPES[0], is_rhs=False)
    problem.tensor = problem.tensor[:, :1, :1]
    mod = problem.lowered(X86_PLACES[0].target)
    assert any(variable.name_hint.startswith("add") for variable in mod.get_global_vars())
