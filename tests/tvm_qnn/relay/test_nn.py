import numpy as np
import pytest
import tvm

from tests.support.errors import fails
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor


@pytest.mark.parametrize("axis", [1, -1])
def test_bias_is_added_per_channel(axis: int) -> None:
    data = np.arange(18, dtype=np.int32).reshape(2, 3, 3)
    bias = np.array([100, 200, 300], np.int32)
    x = relay.var("x", shape=data.shape, dtype="int32")
    body = relay.nn.relu(relay.nn.bias_add(x, relay.const(bias), axis))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], body)), "llvm")
    executor = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    executor.run(x=data - 150)
    shape = [3 if i == axis % 3 else 1 for i in range(3)]
    expected = np.maximum(data - 150 + bias.reshape(shape), 0)
    assert np.array_equal(executor.get_output(0).numpy(), expected)


def test_a_convolution_of_blocks() -> None:
    rng = np.random.default_rng(7)
    data = rng.integers(-9, 9, (1, 8, 5, 5)).astype(np.int32)
    kernel = rng.integers(-9, 9, (4, 8, 3, 3)).astype(np.int32)
    operands = (relay.const(data), relay.const(kernel))
    layouts = ("NCHW4c", "OIHW2i4o")
    image = relay.layout_transform(operands[0], "NCHW", layouts[0])
    blocks = relay.layout_transform(operands[1], "OIHW", layouts[1])
    made = relay.nn.conv2d(image, blocks, 1, 1, 1, 1, 4, 3, *layouts, "NCHW")
    evaluate = relay.create_executor().evaluate
    expected = evaluate(relay.nn.conv2d(*operands, padding=1)).numpy()
    np.testing.assert_array_equal(evaluate(made).numpy(), expected)


def test_a_dense_layer_of_weights_in_blocks() -> None:
    data = np.arange(18, dtype=np.int32).reshape(3, 6)
    kernel = np.arange(96, dtype=np.int32).reshape(16, 6) - 40
    packed = kernel.reshape(2, 8, 6).transpose(0, 2, 1)
    made = relay.nn.contrib_dense_pack(relay.const(data), relay.const(packed), "NC8n")
    result = relay.create_executor().evaluate(made).numpy()
    np.testing.assert_array_equal(result, data @ kernel.T)


@pytest.mark.parametrize(
    ("bias", "axis", "message"),
    [
        (np.zeros(2, np.int32), 1, "must be int32 of shape \\(3,\\), got int32 of shape \\(2,\\)"),
        (np.zeros(3, np.int8), 1, "got int8"),
        (np.zeros(3, np.int32), 3, "has no axis 3"),
    ],
)
def test_a_bias_that_does_not_fit(bias: np.ndarray, axis: int, message: str) -> None:
    x = relay.var("x", shape=(2, 3, 3), dtype="int32")
    fails(message, relay.nn.bias_add, x, relay.const(bias), axis)
