"""Products of matrices, of float32 and quantized, none of which need be constant."""

import re
from typing import Any

import numpy as np
import pytest
from tvm import relax

from qnn_ops import float_matmul, quantized_matmul
from qnn_ops.errors import QnnError
from tests.differential.layers import product
from tests.support.arrays import full_range
from tests.support.errors import fails
from tests.support.operators import module_of
from tests.support.steps import referred

ROW = np.array([[2.0**24, 1, 1, -(2.0**24)]], np.float32)
ONES = np.ones((4, 1), np.float32)


def test_products_are_added_one_by_one() -> None:
    # 2^24 + 1 is 2^24 in float32.
    assert float_matmul.evaluate(ROW, ONES).tolist() == [[0]]
    assert float_matmul.evaluate(ROW[:, ::-1], ONES).tolist() == [[2]]


def test_onnx_runtime_adds_up_panels_by_themselves() -> None:
    row, ones = np.zeros((1, 160), np.float32), np.ones((160, 200), np.float32)
    row[0, 0], row[0, 130:132] = 2.0**24, 1
    assert float_matmul.evaluate(row, ones)[0, 0] == 2.0**24
    assert float_matmul.evaluate(row, ones, "onnxruntime")[0, 0] == 2.0**24 + 2


@pytest.mark.parametrize("shape", [(3, 1), (4,), (2, 4, 1)])
def test_operands_must_fit(shape: tuple[int, ...]) -> None:
    with pytest.raises(QnnError, match=r"rhs must have|have no product"):
        module_of(float_matmul, [np.ones((3, 5, 4), np.float32), np.ones(shape, np.float32)])


NUMBERS = (0.5, 1, 0.25, -2, 0.5, 3, "int8")


def test_by_hand() -> None:
    lhs, rhs = np.array([[3, -4]], np.int8), np.array([[1, 4], [-2, 7]], np.int8)
    # (2, -5) times ((3, 6), (0, 9)) is (6, -33), of which a quarter is 1.5 and -8.25.
    result = quantized_matmul.evaluate(lhs, rhs, *NUMBERS)
    np.testing.assert_array_equal(result, np.array([[3 + 2, 3 - 8]], np.int8))
    turned = quantized_matmul.evaluate(lhs, rhs.T, *NUMBERS, transpose_rhs=True)
    np.testing.assert_array_equal(turned, result)


test_equals_litert = referred(product, dtypes=("int8",))


def test_equals_onnx_runtime() -> None:
    from tests.support.onnx_graphs import Net

    rng = np.random.default_rng(5)
    names = ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"]
    nodes: list[Any] = [("QLinearMatMul", " ".join(names), "y")]
    for case in range(12):
        dtypes = [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")][case % 3]
        arrays = [
            full_range(rng, dtype, shape)
            for dtype, shape in zip(dtypes, ((3, 9, 5), (3, 5, 8)), strict=True)
        ]
        scales = [0.5, 0.25, 64.0] if case % 2 else [0.013, 0.07, 1.7]
        points = [full_range(rng, dtype, ()) for dtype in (*dtypes, dtypes[0])]
        numbers = [n for pair in zip(map(np.float32, scales), points, strict=True) for n in pair]
        operands = [arrays[0], *numbers[:2], arrays[1], *numbers[2:]]
        given = dict(zip(names, map(np.asarray, operands), strict=True))
        constants = {name: given[name] for name in names if name not in "ab"}
        data = {name: given[name] for name in "ab"}
        model = Net(nodes, data, constants)
        arguments: list[Any] = [*arrays, *map(np.ndarray.item, map(np.asarray, numbers)), dtypes[0]]
        ours = quantized_matmul.evaluate(*arguments, rounding="float32")
        np.testing.assert_array_equal(ours, model.theirs()[0])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3), (4, 5)), "operands of shapes (2, 3) and (4, 5) have no product"),
        (((2, 1, 3), (3, 3, 5)), "(2, 1, 3) and (3, 3, 5) have no product"),
        (((3,), (3, 5)), "lhs must have at least 2 dimensions, got (3,)"),
    ],
)
def test_shapes_that_do_not_fit(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], message: str
) -> None:
    lhs, rhs = (relax.Var("x", relax.TensorType(shape, "int8")) for shape in shapes)
    fails(re.escape(message), relax.BlockBuilder().normalize, quantized_matmul(lhs, rhs, *NUMBERS))
