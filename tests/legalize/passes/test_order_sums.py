from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R

from legalize.passes.order_sums import order_sums
from qnn_ops import dequantize
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of
from tests.support.modules import calls_of, emit, module

SHAPES = {
    "constant": ((1, 3, 6, 6), (8, 3, 3, 3), 1, "onnxruntime_blocked"),
    "constant of a group's single unit": ((1, 6, 6, 6), (6, 1, 3, 3), 6, "onnxruntime"),
    "constant, of channels that are no fours": ((1, 18, 6, 6), (8, 18, 3, 3), 1, "onnxruntime"),
    "row": ((1, 3, 6), (8, 3, 3), 1, "onnxruntime"),
}


def convolution(data: tuple[int, ...], kernel: Any, groups: int = 1) -> tvm.IRModule:
    convolve = R.nn.conv1d if len(data) == 3 else R.nn.conv2d
    types = {"x": relax.TensorType(data, "float32")}
    return module(types, lambda x: convolve(x, kernel, groups=groups))


def ordered(mod: tvm.IRModule) -> list[relax.Call]:
    bindings = order_sums(mod)["main"].body.blocks[0].bindings
    return [each.value for each in bindings if operator_of(each.value) is not None]


@pytest.mark.parametrize("name", SHAPES)
def test_constants_that_are_laid_out_have_their_own_order(name: str) -> None:
    data, kernel, groups, order = SHAPES[name]
    weights = relax.const(np.ones(kernel, np.float32))
    (call,) = ordered(convolution(data, weights, groups))
    assert attrs_of(call).order == order


def test_dequantized_weights_are_computed() -> None:
    steps = np.arange(8 * 3 * 3 * 3, dtype=np.int32).astype(np.int8).reshape(8, 3, 3, 3)

    def body(x: relax.Expr) -> relax.Expr:
        builder = relax.BlockBuilder.current()
        return R.nn.conv2d(x, builder.emit(dequantize(relax.const(steps), 0.5, 3)))

    (call,) = ordered(module({"x": relax.TensorType((1, 3, 6, 6), "float32")}, body))
    assert attrs_of(call).order == "onnxruntime"
    real = (steps.astype(np.float32) - 3) * np.float32(0.5)
    np.testing.assert_array_equal(constant_of(call.args[1]), real)


def test_other_layouts_stay() -> None:
    kernel = relax.const(np.ones((8, 3, 3, 3), np.float32))
    types = {"x": relax.TensorType((1, 6, 6, 3), "float32")}
    mod = module(types, lambda x: R.nn.conv2d(x, kernel, data_layout="NHWC"))
    assert not ordered(mod)


def product(depth: int, body: Any) -> list[relax.Call]:
    return ordered(module({"x": relax.TensorType((2, 5, depth), "float32")}, body))


@pytest.mark.parametrize(("depth", "count"), [(256, 0), (257, 1)])
def test_long_products_by_constants_have_parts(depth: int, count: int) -> None:
    weights = relax.const(np.ones((depth, 7), np.float32))
    calls = product(depth, lambda x: R.matmul(x, weights))
    assert [attrs_of(call).order for call in calls] == ["onnxruntime_rows"] * count


@pytest.mark.parametrize("outer", [("rows",), (2, "rows")])
@pytest.mark.parametrize(("depth", "count"), [(256, 1), (600, 3)])
def test_open_rows_are_multiplied_panel_by_panel(
    outer: tuple[Any, ...], depth: int, count: int
) -> None:
    shape = [tirx.Var(each, "int64") if isinstance(each, str) else each for each in outer]
    weights, bias = (relax.const(np.ones(each, np.float32)) for each in ((depth, 7), (7,)))
    types = {"x": relax.TensorType((*shape, depth), "float32")}
    mod = module(types, lambda x: R.add(bias, emit(R.matmul(x, weights))))
    names = [call.op.name.removeprefix("relax.") for call in calls_of(order_sums(mod))]
    assert names.count("matmul") == names.count("add") == count
    assert names.count("strided_slice") == (count if count > 1 else 0)


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_bias_is_a_part_of_a_product_that_nothing_else_reads(is_alone: bool) -> None:
    weights, bias = (relax.const(np.ones(shape, np.float32)) for shape in ((7, 300), (7,)))

    def body(x: relax.Expr) -> relax.Expr:
        total = emit(R.matmul(x, emit(R.permute_dims(weights))))
        total_and_bias = emit(R.add(bias, total))
        return total_and_bias if is_alone else R.multiply(total, total_and_bias)

    (call,) = product(300, body)
    assert len(call.args) == (3 if is_alone else 2)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "count"),
    [
        (5, 200, 200, 1),
        (5, 200, 40, 0),
        ("rows", 200, 200, 1),
        ("rows", 200, 40, 0),
        ("rows", "depth", 40, 1),
        ("rows", 200, "columns", 0),
        (1, 200, 200, 0),
    ],
)
def test_long_products_of_a_run_have_panels(
    rows: Any, depth: Any, columns: Any, count: int
) -> None:
    rows, depth, columns = (
        tirx.Var(each, "int64") if isinstance(each, str) else each
        for each in (rows, depth, columns)
    )
    types = {
        "x": relax.TensorType((2, rows, depth), "float32"),
        "y": relax.TensorType((2, depth, columns), "float32"),
    }
    calls = ordered(module(types, R.matmul))
    assert [attrs_of(call).order for call in calls] == ["onnxruntime"] * count
