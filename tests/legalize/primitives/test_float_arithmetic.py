"""fused_multiply_add, natural_power and reinterpret as loops: Relax has no such operators."""

from __future__ import annotations

import numpy as np
import pytest

import legalize
from qnn_ops import fused_multiply_add, natural_power, reinterpret
from qnn_ops.float_arithmetic import DTYPES
from qnn_ops.float_epilogue import fused_multiply_add_float32
from tests.support.operators import check_operator, module_of, run
from tvm_qnn import host_target


def operands(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize(
    "shapes",
    [
        ((1000,), (1000,), (1000,)),
        ((2, 5, 4, 7), (7,), (7,)),
        ((2, 5, 4, 7), (5, 1, 1), ()),
        ((1, 3), (4, 1), (1, 1)),
        ((), (), ()),
    ],
)
def test_primitives_equal_the_reference(shapes: tuple[tuple[int, ...], ...]) -> None:
    check_operator(fused_multiply_add, operands(*shapes))


def test_one_rounding_on_a_processor_with_the_instruction() -> None:
    arrays = operands((1000,), (1000,), (1000,))
    lowered = legalize.LegalizeQnn()(module_of(fused_multiply_add, arrays))
    np.testing.assert_array_equal(
        run(lowered, arrays, host_target()), fused_multiply_add_float32(*arrays)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_primitives_equal_the_reference_of_natural_power(dtype: str) -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(-(2**31), 2**31, 37).astype(dtype)
    if dtype == "float32":
        data = rng.normal(0, 2, 37).astype(dtype)
        data[:5] = [np.nan, np.inf, -np.inf, 1e30, -0.0]
    for exponent in (-5, 0, 1, 2, 3, 6, 7, 100, 2**30, 2**31 - 1):
        check_operator(natural_power, [data, np.array([exponent], np.int32)])


def test_primitives_equal_the_reference_of_reinterpret() -> None:
    bits = np.random.default_rng(0).integers(-(2**31), 2**31, 99).astype(np.int32)
    check_operator(reinterpret, [bits])
    check_operator(reinterpret, [bits.view(np.float32)])
