from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import qnn_ops
from qnn_ops import tables
from qnn_ops.errors import QnnError
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor

Array = np.ndarray[Any, Any]
op = relay.qnn.op
RNG = np.random.default_rng(5)
DATA = RNG.integers(-128, 128, (1, 3, 8, 8), dtype=np.int8)
OTHER = RNG.integers(-128, 128, (1, 3, 8, 8), dtype=np.int8)


def run(body: Callable[..., relax.Expr], *arrays: Array) -> Array:
    params = [relay.var(f"x{i}", a.shape, str(a.dtype)) for i, a in enumerate(arrays)]
    mod = tvm.IRModule.from_expr(relay.Function(params, body(*params)))
    executor = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu()))
    for i, array in enumerate(arrays):
        executor.set_input(i, array)
    executor.run()
    result: Array = executor.get_output(0).numpy()
    return result


def test_a_convolution_with_bias_and_requantization() -> None:
    kernel = RNG.integers(-128, 128, (4, 3, 3, 3), dtype=np.int8)
    bias = RNG.integers(-1000, 1000, 4, dtype=np.int32)
    scales = np.array([0.5, 0.25, 0.125, 1.0], np.float32)

    def body(x: relax.Expr) -> relax.Expr:
        sums = op.conv2d(
            x,
            relay.const(kernel),
            input_zero_point=relay.const(3, "int32"),
            kernel_zero_point=relay.const(0, "int32"),
            input_scale=relay.const(0.5, "float32"),
            kernel_scale=relay.const(scales),
            kernel_size=(3, 3),
            channels=4,
            padding=(1, 1),
        )
        sums = relay.nn.bias_add(sums, relay.const(bias))
        return op.requantize(
            sums,
            input_scale=relay.const(scales / 2),
            input_zero_point=relay.const(0, "int32"),
            output_scale=relay.const(8.0, "float32"),
            output_zero_point=relay.const(-5, "int32"),
            axis=1,
            out_dtype="int8",
        )

    expected = qnn_ops.quantized_conv2d.evaluate(
        DATA,
        kernel,
        0.5,
        3,
        scales.tolist(),
        0,
        8.0,
        -5,
        "int8",
        padding=1,
        bias=bias,
        rounding="upward",
    )
    assert np.array_equal(run(body, DATA), expected)


def test_a_dense_layer() -> None:
    data, weight = DATA.reshape(3, 64), RNG.integers(-128, 128, (5, 64), dtype=np.int8)
    result = run(lambda x: op.dense(x, relay.const(weight), 1, 2, 0.5, 0.5, units=5), data)
    assert np.array_equal(result, (data.astype(int) - 1) @ (weight.astype(int) - 2).T)


@pytest.mark.parametrize(
    ("spelled", "operator"),
    [
        (op.add, qnn_ops.quantized_add),
        (op.subtract, qnn_ops.quantized_subtract),
        (op.mul, qnn_ops.quantized_multiply),
    ],
)
def test_binary_operators(spelled: Callable[..., relax.Call], operator: Any) -> None:
    def body(lhs: relax.Expr, rhs: relax.Expr) -> relax.Expr:
        return spelled(
            lhs,
            rhs,
            lhs_scale=relay.const(0.5, "float32"),
            lhs_zero_point=relay.const(1, "int32"),
            rhs_scale=relay.const(0.25, "float32"),
            rhs_zero_point=relay.const(-2, "int32"),
            output_scale=relay.const(1.5, "float32"),
            output_zero_point=relay.const(3, "int32"),
        )

    expected = operator.evaluate(DATA, OTHER, 0.5, 1, 0.25, -2, 1.5, 3, "int8")
    assert np.array_equal(run(body, DATA, OTHER), expected)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("sigmoid", tables.logistic_table),
        ("tanh", tables.tanh_table),
        ("hardswish", tables.hard_swish_table),
    ],
)
def test_unary_operators_by_table(name: str, table: Callable[..., Array]) -> None:
    result = run(lambda x: getattr(op, name)(x, 0.05, 3, relay.const(1 / 128), 0), DATA)
    assert np.array_equal(result, table(0.05, 3, 1 / 128, 0, "int8")[DATA.astype(int) + 128])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("exp", np.exp),
        ("log", np.log),
        ("sqrt", np.sqrt),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
    ],
)
def test_real_functions_are_right_to_half_a_step(
    name: str, function: Callable[[Array], Array]
) -> None:
    positive = np.maximum(DATA, -127)
    result = run(lambda x: getattr(op, name)(x, 0.01, -128, 0.02, 0), positive)
    exact = function((positive.astype(float) + 128) * 0.01) / 0.02
    # float32 inside: half a step, and what float32 may add to it.
    assert np.abs(result - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-4


def test_leaky_relu_and_softmax() -> None:
    leaky = run(lambda x: op.leaky_relu(x, 0.1, 0.05, 3, 0.05, 3), DATA)
    table = tables.leaky_relu_table(0.1, 0.05, 3, 0.05, 3, "int8")
    assert np.array_equal(leaky, table[DATA.astype(int) + 128])
    logits = DATA.reshape(24, 8)
    result = run(lambda x: op.softmax(x, 0.1, 0, 1 / 256, -128), logits)
    expected = qnn_ops.quantized_softmax.evaluate(logits, 0.1, 0, 1 / 256, -128, "int8")
    assert np.array_equal(result, expected)


def test_concatenation_of_a_list_or_a_tuple() -> None:
    data, other = DATA.view(np.uint8), OTHER.view(np.uint8)
    scales, points = [relay.const(0.5), 0.25], [relay.const(1), 2]
    expected = qnn_ops.quantized_concat.evaluate(
        [data, other], [0.5, 0.25], [1, 2], 0.5, 1, "uint8", axis=1
    )
    for collect in (list, relay.Tuple):
        result = run(
            lambda x, y, c=collect: op.concatenate(c([x, y]), scales, points, 0.5, 1, axis=1),
            data,
            other,
        )
        assert np.array_equal(result, expected)


def test_quantize_and_dequantize() -> None:
    real = RNG.normal(size=(4, 4)).astype(np.float32)

    def there_and_back(x: relax.Expr) -> relax.Expr:
        quantized = op.quantize(x, relay.const(0.02), relay.const(7), out_dtype="uint8")
        return op.dequantize(quantized, relay.const(0.02), relay.const(7))

    expected = qnn_ops.dequantize.evaluate(
        qnn_ops.quantize.evaluate(real, 0.02, 7, "uint8"), 0.02, 7
    )
    assert np.array_equal(run(there_and_back, real), expected)


X = relay.var("x", (1, 3, 8, 8), "int8")
SIX = (0.5, 0, 0.5, 0, 0.5, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: op.requantize(X, 1.0, 0, 1.0, 0, rounding="DOWN"), "rounding is one of"),
        (lambda: op.requantize(X, 1.0, 0, 1.0, 0, compute_dtype="float32"), "compute_dtype"),
        (lambda: op.conv2d(X, X, 0, 0, 1.0, 1.0, None, None, out_dtype="int16"), "out_dtype"),
        (lambda: op.conv2d(X, relay.const(DATA[:, :2]), 0, 0, 1.0, 1.0, None, None), "conv2d"),
        (lambda: op.dense(X, X, 0, 0, 1.0, 1.0, out_dtype="int16"), "out_dtype"),
        (lambda: op.add(X, X, *SIX, 1, 1), "per-channel operands"),
        (lambda: op.add(X, X, *SIX, lhs_scale=1.0), "doubled argument lhs_scale"),
        (lambda: op.add(X, X, 0.5), "missing lhs_zero_point"),
        (lambda: op.concatenate([X, relay.const(1.0)], [1, 1], [0, 0], 1.0, 0), "one dtype"),
        (lambda: op.quantize(X, 1.0, 0), "float32"),
        (lambda: op.sigmoid(3, 1.0, 0, 1.0, 0), "x must be a Relax expression"),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(QnnError, match=message):
        call()
