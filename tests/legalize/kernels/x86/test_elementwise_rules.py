from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm

from legalize.lower import lower
from qnn_ops import quantized_add, quantized_subtract
from tests.support.arrays import full_range
from tests.support.operators import module_of, run
from tests.support.vnni import TARGET, needs_vnni

ATTRS: dict[str, Any] = {
    "lhs_scale": 0.31,
    "lhs_zero_point": 5,
    "rhs_scale": 0.17,
    "rhs_zero_point": -7,
    "output_scale": 0.43,
    "output_zero_point": 11,
    "out_dtype": "int8",
}


def lowered(operator: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]], mcpu: str) -> str:
    mod = module_of(operator, [np.zeros(shape, np.int8) for shape in shapes], **ATTRS)
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    return str(lower(mod, target)["main"].script())


@pytest.mark.parametrize("operator", [quantized_add, quantized_subtract])
@pytest.mark.parametrize(
    ("rhs", "mcpu", "has_kernel"),
    [
        ((1, 4, 4, 16), "cascadelake", True),
        ((1, 1, 1, 16), "cascadelake", False),
        ((1, 4, 4, 16), "skylake-avx512", False),
    ],
)
def test_sums_of_equal_shapes_are_kernels(
    operator: Any, rhs: tuple[int, ...], mcpu: str, has_kernel: bool
) -> None:
    assert ("call_tir" in lowered(operator, ((1, 4, 4, 16), rhs), mcpu)) == has_kernel


def test_few_values_are_left_to_the_primitives() -> None:
    assert "call_tir" not in lowered(quantized_add, ((63,), (63,)), "cascadelake")


@needs_vnni
@pytest.mark.parametrize("operator", [quantized_add, quantized_subtract])
@pytest.mark.parametrize("shape", [(64,), (1, 5, 7, 3)])
def test_results_are_the_references(operator: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    data = [full_range(rng, "int8", shape) for _ in range(2)]
    mod = lower(module_of(operator, data, **ATTRS), tvm.target.Target(TARGET))
    expected = operator.evaluate(*data, **ATTRS)
    np.testing.assert_array_equal(run(mod, data, TARGET), expected)
