from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.order_convolutions import order_convolutions
from qnn_ops import dequantize
from qnn_ops.registry import attrs_of, constant_of, operator_of
from tests.support.modules import module

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
    bindings = order_convolutions(mod)["main"].body.blocks[0].bindings
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
