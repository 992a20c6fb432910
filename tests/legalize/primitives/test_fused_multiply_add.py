from __future__ import annotations

import numpy as np
import pytest

import legalize
from qnn_ops import fused_multiply_add
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
