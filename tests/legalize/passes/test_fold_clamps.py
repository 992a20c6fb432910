from typing import Any

import pytest
from tvm import relax
from tvm.ir import assert_structural_equal

from legalize.passes.fold_clamps import FoldClamps
from qnn_ops import quantized_add, quantized_pool2d, quantized_relu
from tests.support.encodings import encodings
from tests.support.modules import emit, module

PAIR = dict.fromkeys("xy", relax.TensorType((4,), "int8"))
ADD = encodings(lhs=(0.5, 0), rhs=(0.25, 1), output=(0.5, -10), out_dtype="int8")
KEEPING = encodings(input=(0.5, -10), output=(0.5, -10), out_dtype="int8")
# The same zero point means the same value in both dtypes.
POSITIVE = {**ADD, "output_zero_point": 10}
TO_UINT8 = {**KEEPING, "input_zero_point": 10, "output_zero_point": 10, "out_dtype": "uint8"}


@pytest.mark.parametrize(
    ("bounds", "kind", "folded"),
    [
        ({}, "relu6", {"out_min": -10, "out_max": 2}),
        # What is clamped already.
        ({"out_min": -100, "out_max": -50}, "relu", {"out_min": -10, "out_max": -10}),
    ],
)
def test_activation_that_keeps_the_quantization_becomes_the_producers_clamp(
    bounds: dict[str, int], kind: str, folded: dict[str, int]
) -> None:
    def before(x: relax.Expr, y: relax.Expr) -> relax.Call:
        return quantized_relu(quantized_add(x, y, **bounds, **ADD), kind=kind, **KEEPING)

    expected = module(PAIR, lambda x, y: quantized_add(x, y, **folded, **ADD))
    assert_structural_equal(FoldClamps()(module(PAIR, before)), expected)


def test_rescaling_activation_and_shared_producer_are_left_alone() -> None:
    def body(x: relax.Expr, y: relax.Expr) -> list[relax.Expr]:
        total = emit(quantized_add(x, y, **ADD))
        rescaled = {**KEEPING, "output_scale": 0.25}
        return [
            total,
            quantized_relu(total, kind="relu", **KEEPING),
            quantized_relu(quantized_add(x, x, **ADD), kind="relu", **rescaled),
        ]

    before = module(PAIR, body)
    assert_structural_equal(FoldClamps()(before), before)


def test_activation_that_changes_the_dtype_is_left_alone() -> None:
    def body(x: relax.Expr, y: relax.Expr) -> relax.Call:
        return quantized_relu(quantized_add(x, y, **POSITIVE), kind="relu6", **TO_UINT8)

    before = module(PAIR, body)
    assert_structural_equal(FoldClamps()(before), before)


def test_activation_after_a_pool_that_states_no_bounds() -> None:
    image = {"x": relax.TensorType((1, 2, 2, 1), "int8")}

    def pooled(x: relax.Expr, **bounds: Any) -> relax.Call:
        return quantized_pool2d(x, "max", [2, 2], layout="NHWC", **bounds)

    before = module(image, lambda x: quantized_relu(pooled(x), kind="relu", **KEEPING))
    expected = module(image, lambda x: pooled(x, out_min=-10, out_max=127))
    assert_structural_equal(FoldClamps()(before), expected)
