import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import qnn_ops
from qnn_ops.arrays import Array
from tests.support.encodings import encodings
from tests.support.errors import failing
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor

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

    told = {"out_dtype": "int8", "padding": 1, "bias": bias, "rounding": "upward"}
    attrs = encodings(input=(0.5, 3), kernel=(scales.tolist(), 0), output=(8.0, -5), **told)
    expected = qnn_ops.quantized_conv2d.evaluate(DATA, kernel, **attrs)
    assert np.array_equal(run(body, DATA), expected)


def test_a_dense_layer_softmax_and_folded_scales() -> None:
    data, weight = DATA.reshape(3, 64), RNG.integers(-128, 128, (5, 64), dtype=np.int8)
    result = run(lambda x: op.dense(x, relay.const(weight), 1, 2, 0.5, 0.5, units=5), data)
    assert np.array_equal(result, (data.astype(int) - 1) @ (weight.astype(int) - 2).T)
    logits = DATA.reshape(24, 8)
    result = run(lambda x: op.softmax(x, 0.1, 0, 1 / 256, -128), logits)
    expected = qnn_ops.quantized_softmax.evaluate(logits, 0.1, 0, 1 / 256, -128, "int8")
    assert np.array_equal(result, expected)
    half = relay.const(0.5)
    result = run(lambda x: op.dequantize(x, relay.multiply(half, half), relay.const(1)), DATA)
    assert np.array_equal(result, (DATA.astype(np.float32) - 1) / 4)


def rescaled(values: Array, scale: float, point: int, to_scale: float, to_point: int) -> Array:
    """Express integers in another scale, a half rounded up."""
    return np.asarray(np.floor((values.astype(int) - point) * scale / to_scale + 0.5)) + to_point


SIX = (0.5, 1, 0.25, -2, 2.0, 3)  # powers of two: what is a tie is one exactly
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    # Each operand is rounded to the result's scale first.
    "add": lambda x, y: rescaled(x, 0.5, 1, 2.0, 3) + rescaled(y, 0.25, -2, 2.0, 3) - 3,
    "subtract": lambda x, y: rescaled(x, 0.5, 1, 2.0, 3) - rescaled(y, 0.25, -2, 2.0, 3) + 3,
    "mul": lambda x, y: rescaled((x.astype(int) - 1) * (y.astype(int) + 2), 0.125, 0, 2.0, 3),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators_round_as_relay(name: str) -> None:
    expected = np.clip(BINARY[name](DATA, OTHER), -128, 127)
    result = run(lambda x, y: getattr(op, name)(x, y, *SIX), DATA, OTHER)
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("name", ["add", "subtract", "mul"])
def test_binary_operators_by_channel(name: str) -> None:
    scales, points = [0.5, 0.25, 1.0], [1, -2, 3]
    operands: list[Any] = [scales, points, 0.25, 0, 1.5, 3]
    if name == "mul":  # needs both by channel
        operands[2:4] = [0.25] * 3, [0] * 3
    result = run(lambda x, y: getattr(op, name)(x, y, *operands, 1, 1), DATA, OTHER)
    for channel in range(3):
        alone = (scales[channel], points[channel], 0.25, 0, 1.5, 3)
        parts = (DATA[:, channel], OTHER[:, channel])
        expected = run(lambda x, y, a=alone: getattr(op, name)(x, y, *a), *parts)
        assert np.array_equal(result[:, channel], expected)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("exp", np.exp),
        ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("tanh", np.tanh),
        ("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6),
        ("erf", np.vectorize(math.erf)),
        ("abs", np.abs),
        ("log", np.log),
        ("sqrt", np.sqrt),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
    ],
)
def test_functions_are_right_to_half_a_step(name: str, function: Callable[[Array], Array]) -> None:
    positive = np.maximum(DATA, -127)
    result = run(lambda x: getattr(op, name)(x, 0.01, -128, 0.02, 0), positive)
    exact = function((positive.astype(float) + 128) * 0.01) / 0.02
    # float32 inside: half a step, and what float32 may add to it.
    assert np.abs(result - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-4


@pytest.mark.parametrize("alpha", [0.1357, 0.8713, 1.5137])
def test_leaky_relu_rounds_twice(alpha: float) -> None:
    values = rescaled(DATA, 0.05, 3, 0.07, 5)
    scaled = np.floor(alpha * values + 0.5) + np.floor((1 - alpha) * 5 + 0.5)
    expected = np.clip(np.where(DATA < 3, scaled, values), -128, 127)
    assert np.array_equal(run(lambda x: op.leaky_relu(x, alpha, 0.05, 3, 0.07, 5), DATA), expected)


def test_roundings_and_compute_dtypes_of_requantize() -> None:
    data = np.arange(-40, 41, dtype=np.int32)
    up, away = np.floor(data / 16 + 0.5), np.sign(data) * np.floor(np.abs(data) / 16 + 0.5)
    for compute_dtype in ("int64", "float32", "float64"):
        for rounding, expected in (("UPWARD", up), ("TONEAREST", away)):
            settings = {"rounding": rounding, "compute_dtype": compute_dtype}
            result = run(lambda x, s=settings: op.requantize(x, 1.0, 0, 16.0, 0, **s), data)
            assert np.array_equal(result, expected)
    with relay.qnn.requantize_config(rounding="TONEAREST"):
        assert np.array_equal(run(lambda x: op.requantize(x, 1.0, 0, 16.0, 0), data), away)
    assert np.array_equal(run(lambda x: op.requantize(x, 1.0, 0, 16.0, 0), data), up)


def test_scales_and_zero_points_that_the_run_computes() -> None:
    real = RNG.normal(size=(4, 4)).astype(np.float32)
    scale, point = np.array([0.02], np.float32), np.array([3], np.int32)

    def there_and_back(x: relax.Expr, s: relax.Expr, z: relax.Expr) -> relax.Expr:
        quantized = op.quantize(x, s * s, z + z, out_dtype="uint16")
        return op.dequantize(quantized, s * s, z + z)

    steps = np.clip(np.round(real / (scale * scale)) + 6, 0, 65535)
    expected = ((steps - 6) * (scale * scale)).astype(np.float32)
    assert np.array_equal(run(there_and_back, real, scale, point), expected)


def test_products_of_matrices_and_transposed_convolutions() -> None:
    x, y = DATA.reshape(3, 8, 8), OTHER.reshape(3, 8, 8)
    result = run(lambda x, y: op.batch_matmul(x, y, 3, -4, 1.0, 1.0), x, y)
    assert np.array_equal(result, (x.astype(int) - 3) @ (y.astype(int) + 4).transpose(0, 2, 1))
    kernel = RNG.integers(-128, 128, (3, 2, 2, 2), dtype=np.int8)
    result = run(
        lambda x: op.conv2d_transpose(x, relay.const(kernel), 3, -4, 1.0, 1.0, strides=(2, 2)), DATA
    )
    products = np.einsum("bihw,iokl->bohkwl", DATA.astype(int) - 3, kernel.astype(int) + 4)
    assert np.array_equal(result, products.reshape(1, 2, 16, 16))


@pytest.mark.parametrize("layout", ["NC", "NC8n", "NC4n2c"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_dense_layer_of_weights_in_blocks(layout: str, is_known: bool) -> None:
    data = RNG.integers(0, 256, (3, 6), np.uint8)
    kernel = RNG.integers(-128, 128, (16, 6), np.int8)
    packed = {
        "NC": kernel,
        "NC8n": kernel.reshape(2, 8, 6).transpose(0, 2, 1),
        "NC4n2c": kernel.reshape(4, 4, 3, 2).transpose(0, 2, 1, 3),
    }[layout]
    quantization = (relay.const(7), relay.const(-2), relay.const(0.1), relay.const(0.2))

    def body(x: relax.Expr, *weights: relax.Expr) -> relax.Expr:
        (weight,) = weights or (relay.const(packed),)
        return op.contrib_dense_pack(x, weight, *quantization, layout)

    expected = (data.astype(np.int32) - 7) @ (kernel.astype(np.int32) + 2).T
    operands = [data] if is_known else [data, packed]
    np.testing.assert_array_equal(run(body, *operands), expected)


def test_average_pools_cut_off_fractions() -> None:
    data = DATA.transpose(0, 2, 3, 1)
    arguments = ([2, 2], [2, 2], [0, 0], [1, 1])
    result = run(lambda x: op.avg_pool2d(x, 0.5, 1, 0.5, 1, *arguments), data)
    sums = data.astype(int).reshape(1, 4, 2, 4, 2, 3).sum(axis=(2, 4))
    assert np.array_equal(result, np.trunc(sums / 4))


def test_simulated_quantization_takes_its_dtype_from_a_tensor() -> None:
    real = RNG.normal(0, 100, size=(4, 4)).astype(np.float32)
    steps = np.round(real / np.float32(0.5)) + 7
    wanted = {"disable": real, "int8": steps.clip(-128, 127), "uint8": steps.clip(0, 255)}
    for dtype, expected in wanted.items():
        code = np.array([relay.qnn.SQNN_DTYPE_TO_CODE[dtype]], np.int32)
        result = run(lambda x, c: op.simulated_quantize(x, 0.5, 7, -1, c), real, code)
        assert np.array_equal(result, expected)
        back = run(lambda x, c: op.simulated_dequantize(x, 0.5, 7, -1, c), expected, code)
        reals = expected if dtype == "disable" else (expected - 7) * np.float32(0.5)
        assert np.array_equal(back, reals)


def test_concatenation_of_a_list_or_a_tuple() -> None:
    data, other = DATA.view(np.uint8), OTHER.view(np.uint8)
    scales, points = [relay.const(0.5), 0.25], [relay.const(1), 2]
    halved = np.clip(rescaled(other, 0.25, 2, 0.5, 1), 0, 255)
    expected = np.concatenate([data, halved], axis=1)
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


X = relay.var("x", shape=(1, 3, 8, 8), dtype="int8")
K = relay.var("k", shape=(4, 3, 1, 1), dtype="int8")
S = relay.var("s", shape=(), dtype="float32")
V = relay.var("v", shape=(5,), dtype="float32")
F = relay.var("f", shape=(2, 3), dtype="float32")


test_what_does_not_fit_is_named = failing(
    lambda call: call(),
    (lambda: op.requantize(X, 1.0, 0, 1.0, 0, rounding="DOWN"), "rounding is one of"),
    (lambda: op.requantize(X, 1.0, 0, 1.0, 0, compute_dtype="bfloat16"), "compute_dtype"),
    (lambda: op.requantize(X, S, 0, 1.0, 0), "input scale must be a constant"),
    (lambda: op.conv2d(X, X, 0, 0, 1.0, 1.0, None, None, out_dtype="int16"), "out_dtype"),
    (lambda: op.conv2d(X, relay.const(DATA[:, :2]), 0, 0, 1.0, 1.0, None, None), "conv2d"),
    (lambda: op.conv2d(X, K, 0, 0, 1.0, [1.0] * 2, None, None), "2 values"),
    (lambda: op.dense(X, X, 0, 0, 1.0, 1.0, out_dtype="int16"), "out_dtype"),
    (lambda: op.add(X, F, *SIX), "one dtype, got int8 and float32"),
    (lambda: op.mul(X, X, [1.0] * 3, 0, [1.0] * 3, 0, 1.0, 0, 1, 0), "must be the same"),
    (lambda: op.concatenate([X, relay.const(1.0)], [1, 1], [0, 0], 1.0, 0), "one dtype"),
    (lambda: op.quantize(X, 1.0, 0), "float32"),
    (lambda: op.quantize(F, S, 0, out_dtype="int4"), "out_dtype must be int8 or"),
    (lambda: op.quantize(F, V, 0, axis=1), r"has shape \(5,\), axis 1 of the data has 3"),
    (lambda: op.quantize(F, V, 0, axis=7), "axis 7 is outside"),
    (lambda: op.requantize(X, [1.0] * 2, 0, 1.0, 0, axis=1), "2 values"),
    (lambda: op.requantize(X, [1.0] * 2, 0, 1.0, 0, 1, "TONEAREST"), r"has shape \(2,\)"),
    (lambda: op.requantize(X, 1.0, 0, 0.0, 0, 1, "TONEAREST"), "must be above 0"),
    (lambda: op.requantize(X, 1.0, 0, [1.0, 2.0], 0), "one scale and one zero point"),
    (lambda: op.requantize(F, 1.0, 0, 1.0, 0), "data must be int8"),
    (lambda: op.batch_matmul(X, F, 0, 0, 1.0, 1.0), "transpose|permute_dims"),
    (lambda: op.avg_pool2d(X, 1.0, 0, 1.0, 0, 9, 1, 0, 1), "a size would be below 0"),
    (lambda: op.concatenate([X, X], [1.0], [0], 1.0, 0), "2, 1 and 1 tensors"),
    (lambda: op.simulated_quantize(F, 1.0, 0, out_dtype="int16"), "one of disable"),
    (lambda: op.leaky_relu(F, 0.1, 1.0, 0, 1.0, 0), "x must be int8 or uint8"),
    (lambda: op.exp(X, 1.0, 0, 0.0, 0), "scales above 0"),
    (lambda: op.sigmoid(3, 1.0, 0, 1.0, 0), "x must be a Relax expression"),
)
